// Creates values at their first use.

/**
 * Returns a function that creates a value at its first use and caches it, so that rarely needed values do not delay the start.
 * @example
 * const dates = lazy(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'long' }))
 * dates().format(new Date(0))
 */
export function lazy<Value>(create: () => Value): () => Value {
  let holder: { readonly value: Value } | undefined
  return () => {
    holder ??= { value: create() }
    return holder.value
  }
}
