/** Defines the same agent before its fault is corrected. */
export function handle(): never {
  throw new Error('the shelf is empty')
}
