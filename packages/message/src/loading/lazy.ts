// Makes values at their first use.

/**
 * Makes a value at its first use instead of when the module loads, and keeps it: what few messages need must not delay the start.
 * @example
 * const dates = lazy(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'long' }))
 * dates().format(new Date(0))
 */
export function lazy<Value>(create: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: create() }
    return made.value
  }
}
