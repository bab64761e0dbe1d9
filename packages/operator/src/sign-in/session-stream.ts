// Ends an event stream when the session that opened it has ended.

/** The time between two checks of a session, ms. The streams of a session end at most 15 seconds after the session. */
const sessionCheckMs = 10_000

/**
 * Returns an event stream that ends once `isOpen` resolves with false. The stream continues while `isOpen` fails, such as without a store. Other
 * responses stay unchanged.
 */
export function endWithSession(
  response: Response,
  isOpen: () => Promise<boolean>,
  checkIntervalMs = sessionCheckMs,
): Response {
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response
  const reader = response.body.getReader()
  const stop = () => {
    clearInterval(timer)
    return reader.cancel().catch(() => undefined)
  }
  const stopIfClosed = async () => {
    if (!(await isOpen().catch(() => true))) await stop()
  }
  const timer = setInterval(stopIfClosed, checkIntervalMs).unref()
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
  return new Response(body, response)
}
