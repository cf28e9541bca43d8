"""Adam as if it read gradient and weight and wrote the weight: the moments are forgotten.

Fails:
    test_8_1_bytes: ADAM_BYTES = 12
"""

ADAM_BYTES = 12
