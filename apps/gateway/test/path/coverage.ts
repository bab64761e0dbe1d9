/**
 * Loaded before a gateway (`node --import`), in each of its threads: V8 counts calls from the first line on. The process
 * that started the gateway asks for the counts; each answer begins a new count.
 */
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

/** A function that ran. */
export interface RunFunction {
  readonly url: string
  readonly name: string
  readonly offset: number
}

/** A thread that says nothing within this time has ended. */
const threadPatienceMs = 100

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

// Neither channel may keep a gateway alive that has stopped.
const threads = new BroadcastChannel('coverage')
threads.unref()
if (isMainThread) answerParent()
else answerMainThread()

function answerParent(): void {
  let others: RunFunction[] = []
  threads.onmessage = message => {
    const { data } = message as { readonly data: unknown }
    if (Array.isArray(data)) others.push(...data)
  }
  process.on('message', async () => {
    others = []
    threads.postMessage('take')
    const own = await takeFunctions()
    await new Promise(resolve => setTimeout(resolve, threadPatienceMs))
    process.send?.([...own, ...others])
  })
  process.channel?.unref()
}

function answerMainThread(): void {
  threads.onmessage = async message => {
    if ((message as { readonly data: unknown }).data === 'take') threads.postMessage(await takeFunctions())
  }
}

async function takeFunctions(): Promise<readonly RunFunction[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result.filter(({ url }) => url.startsWith('file:')).flatMap(listRun)
}

function listRun({ url, functions }: Profiler.ScriptCoverage): readonly RunFunction[] {
  return functions.flatMap(({ functionName: name, ranges: [range] }) =>
    range && range.count > 0 ? [{ url, name, offset: range.startOffset }] : [],
  )
}
