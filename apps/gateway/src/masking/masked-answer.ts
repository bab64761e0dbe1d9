// Hides secrets in the lines of an answer as they come.
import type { SecretMask } from './secret-mask.ts'

/** Returns the answer without secrets. Sends each line as soon as it is complete, so that events of a stream are not delayed. */
export function maskAnswer(response: Response, { hideIn }: Pick<SecretMask, 'hideIn'>): Response {
  if (!response.body) return response
  const reader = response.body.getReader()
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
  let partialLine: string[] = []
  const maskLines = (text: string, lineEnd: number) => {
    const lines = partialLine.join('') + text.slice(0, lineEnd)
    partialLine = [text.slice(lineEnd)]
    return encoder.encode(hideIn(lines))
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { value, done } = await reader.read()
          const text = decoder.decode(value, { stream: !done })
          const lineEnd = done ? text.length : text.lastIndexOf('\n') + 1
          if (lineEnd > 0 || done) controller.enqueue(maskLines(text, lineEnd))
          else partialLine.push(text)
          if (done) return controller.close()
          if (lineEnd > 0) return
        }
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}
