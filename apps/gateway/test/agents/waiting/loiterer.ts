import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** Callbacks of the runs that wait until the word `go` arrives in another thread; each run reports its message. */
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
