// Ends an event stream when the session that opened it has ended.

/** The time between two checks of a session, ms. Its streams end within 15 seconds after it. */
const sessionCheckMs = 10_000

/**
 * Returns the answer with a body that ends once `isOpen` returns false. The stream continues while the store does not answer. Answers other than
 * event streams are returned unchanged.
 */
export function endWithSession(answer: Response, isOpen: () => Promise<boolean>, everyMs = sessionCheckMs): Response {
  if (!answer.body || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer
  const reader = answer.body.getReader()
  const timer = setInterval(() => {
    isOpen().then(
      open => void (open || stop()),
      () => undefined,
    )
  }, everyMs).unref()
  const stop = () => {
    clearInterval(timer)
    return reader.cancel().catch(() => undefined)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await reader.read().catch(error => {
          clearInterval(timer)
          throw error
        })
        if (!done) return controller.enqueue(value)
        clearInterval(timer)
        controller.close()
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
  return new Response(body, answer)
}
