/** Waits until `condition` holds; fails after `limit` ms of real time (10 s by default). */
export async function until(condition: () => boolean, limit = 10_000): Promise<void> {
  const end = Date.now() + limit;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`Still not true after ${limit} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
