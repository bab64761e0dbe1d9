// Hides secrets in the lines of an answer as they come.
import type { SecretMask } from './secret-mask.ts'

/** Returns the answer without secrets. Sends each line as soon as it is complete, so that events of a stream are not delayed. */
export function maskAnswer(answer: Response, { hideIn }: Pick<SecretMask, 'hideIn'>): Response {
  if (!answer.body) return answer
  const reader = answer.body.getReader()
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
  let partialLine: string[] = []
  const maskLines = (text: string, end: number) => {
    const lines = partialLine.join('') + text.slice(0, end)
    partialLine = [text.slice(end)]
    return encoder.encode(hideIn(lines))
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { value, done } = await reader.read()
          const text = decoder.decode(value, { stream: !done })
          const end = done ? text.length : text.lastIndexOf('\n') + 1
          if (end > 0 || done) controller.enqueue(maskLines(text, end))
          else partialLine.push(text)
          if (done) return controller.close()
          if (end > 0) return
        }
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, answer)
}
