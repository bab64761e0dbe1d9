/** Rejects with what `createError` makes when `promise` takes longer; what it comes to afterwards is nobody's concern. */
export async function limitWait<Value>(promise: Promise<Value>, ms: number, createError: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(createError()), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
