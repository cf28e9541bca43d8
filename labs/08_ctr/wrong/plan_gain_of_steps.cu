/*
Steps a second in place of samples a second: a larger batch looks slower.

Fails:
    test_8_10_roofline: the gain
*/

    // BEGIN SOLUTION 8.10
    double rows = model[0], fields = model[1], dim = model[2], weights = model[3], choice = 4, before = 0;
    result[0] = choice;
    for (int after = 0; after < 2; after++) {
        int done = after ? (int)choice : 0;
        double samples = done == 4 ? 8.0 * model[4] : model[4], lookups = samples * fields;
        double* out = result + 1 + 5 * after;
        out[0] = 12 * lookups * dim + (done == 1 ? 8 * lookups * dim + 8 * lookups : 28 * rows * dim);
        out[1] = 6 * weights * samples;
        out[2] = done == 3 ? 1 : model[5];
        double reading = out[0] / gpu[0], computing = out[1] / gpu[done == 2 ? 2 : 1], launching = out[2] * gpu[3];
        out[3] = 1e6 * fmax(reading + computing, launching);
        out[4] = launching > reading + computing ? 2 : computing > reading;
        if (after) result[11] = 1 / out[3] / before;
        before = 1 / out[3];
    }
    // END SOLUTION
