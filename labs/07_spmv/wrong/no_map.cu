/* The sums stay in the order of the slices.

Fails:
    test_7_8_right: wrong answer
    test_7_8_cost: wrong answer
*/

// BEGIN SOLUTION 7.8
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= rows) return;
    float total = 0;
    for (int slot = offsets[place / height] + place % height; slot < offsets[place / height + 1]; slot += height) {
        if (columns[slot] >= 0) total += values[slot] * x[columns[slot]];
    }
    y[place] = total;
// END SOLUTION
