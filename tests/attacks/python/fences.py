"""A text that ends the block in which a page shows it.

```
<script>alert(1)</script>
``````
~~~

Deserves: 0 points
Named: there is no kernel
"""

NOTE = "``` <script>alert(1)</script> ``` --> ]]> </pre> %s {{7*7}}"
STEPS = "``` <script>alert(1)</script> ``` --> ]]> </pre> %s {{7*7}}"
