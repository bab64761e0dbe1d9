/** The caller pulls: nothing leaves the house by itself until push notifications do. */
export async function deliverTask(): Promise<{ readonly note: string }> {
  return { note: 'kept for the caller to fetch' }
}
