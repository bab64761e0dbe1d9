// Waits in each run until the word `go` arrives in another thread, and then repeats its message.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** The callbacks that end the waiting runs. */
let pendingResolves: (() => void)[] = []

export async function* handle({ parts, merged }: NormalizedMessage, { signal }: AgentContext) {
  const text = plainTextOf(parts)
  if (text === 'go') {
    for (const resolve of pendingResolves) resolve()
    pendingResolves = []
    yield 'gone'
    return
  }
  yield 'hm '
  await new Promise<void>((resolve, reject) => {
    pendingResolves.push(resolve)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  yield `heard ${text.replaceAll('\n', '+')} (${(merged ?? []).length + 1})`
}
