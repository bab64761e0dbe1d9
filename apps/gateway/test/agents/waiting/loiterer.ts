import type { AgentContext, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** Runs until the word `go` comes in another thread, and tells what it was asked. */
let going: (() => void)[] = []

export async function* handle({ parts, merged }: NormalizedMessage, { signal }: AgentContext) {
  const text = plainTextOf(parts)
  if (text === 'go') {
    for (const go of going) go()
    going = []
    yield 'gone'
    return
  }
  yield 'hm '
  await new Promise<void>((resolve, reject) => {
    going.push(resolve)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  yield `heard ${text.replaceAll('\n', '+')} (${(merged ?? []).length + 1})`
}
