/** Not at all when there is no time left. */
export function rest(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise(resolve => setTimeout(resolve, ms)) : undefined
}
