// Runs a function after the end of work, with a third of the promises of `finally`.
/** Calls `onEnd` when the work has ended, and returns its result or throws its error afterwards. */
export function callAfter(work: Promise<void>, onEnd: () => void): Promise<void> {
  return work.then(onEnd, (error: unknown) => {
    onEnd()
    throw error
  })
}
