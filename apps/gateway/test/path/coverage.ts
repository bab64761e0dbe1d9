/**
 * Counts function calls from the first line on, when loaded before a gateway (`node --import`), in each of its threads. The process that
 * started the gateway requests V8's counts; each answer starts a new count.
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

/** The time after which a thread that has not answered counts as ended, ms. */
const threadPatienceMs = 100

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

// Neither channel must keep a stopped gateway alive.
const threads = new BroadcastChannel('coverage')
threads.unref()
if (isMainThread) answerParent()
else answerMainThread()

function answerParent(): void {
  let helpers: RunFunction[] = []
  threads.onmessage = message => {
    const { data } = message as { readonly data: unknown }
    if (Array.isArray(data)) helpers.push(...data)
  }
  process.on('message', async () => {
    helpers = []
    threads.postMessage('take')
    const ownFunctions = await takeFunctions()
    await new Promise(resolve => setTimeout(resolve, threadPatienceMs))
    process.send?.([...ownFunctions, ...helpers])
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
