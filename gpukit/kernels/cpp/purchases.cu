// Loops of different length, in CUDA C++: the total of each customer's purchases.
//
// Compile with -DELEMENT=int for amounts in cents instead of float.

#ifndef ELEMENT
#define ELEMENT float
#endif

typedef ELEMENT element;

// One customer per thread, as they came: the warp waits for the one with most purchases.
//
// Expect: about 7 of 32 lanes active. The compiler unrolls the loop by four, with a second loop for the purchases left over.
//
// Args:
//     offsets: customers + 1 places, where each customer's purchases begin.
//     amounts: the purchases.
//     totals: one per customer, written.
extern "C" __global__ void customer_per_thread(const int* offsets, const element* amounts, element* totals,
                                               int customers) {
    int customer = blockIdx.x * blockDim.x + threadIdx.x;
    if (customer < customers) {
        element total = 0;
        for (int k = offsets[customer]; k < offsets[customer + 1]; k++) total += amounts[k];
        totals[customer] = total;
    }
}

// Customers grouped by length: the lanes of a warp end at nearly the same time.
//
// Versus: customer_per_thread: thread t takes customer order[t], those with few purchases first.
//
// Expect: about 19 of 32 lanes active instead of 7, and less than half of the warp instructions.
//
// Args:
//     offsets: customers + 1 places, where each customer's purchases begin.
//     amounts: the purchases.
//     order: a permutation of the customers.
//     totals: one per customer, written where the customer is.
extern "C" __global__ void grouped(const int* offsets, const element* amounts, const int* order, element* totals,
                                   int customers) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < customers) {
        int customer = order[t];
        element total = 0;
        for (int k = offsets[customer]; k < offsets[customer + 1]; k++) total += amounts[k];
        totals[customer] = total;
    }
}
