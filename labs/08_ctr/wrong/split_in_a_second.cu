/*
Of one second some samples are for training and others for the test.

Fails:
    test_8_9_split: the last 2 of seconds 5, 7, 7, 7, 9: three of them are one second
*/

    // BEGIN SOLUTION 8.9
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= samples) return;
    int later = 0;
    for (int i = 0; i < samples; i++) later += times[i] > times[t] || (times[i] == times[t] && i > t);
    test[t] = later < count;
    // END SOLUTION
