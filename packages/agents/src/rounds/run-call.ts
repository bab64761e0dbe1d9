import type { ToolCallPart } from '@postern/core'
import { parseJsonText, Rejection, Unavailable, Undeliverable } from '@postern/core'
import type { Tool, ToolContext, ToolOutcome } from '../tools/tools.ts'
import { toToolResult } from '../tools/tools.ts'
import type { WrittenCall } from './round.ts'

/** A parsed call of the model: its beginning, and its result. */
export interface BegunCall {
  readonly part: ToolCallPart
  /** What runs; absent where it cannot run. */
  readonly tool?: Tool | undefined
  /** Throws only when the turn is over. The model must get every other failure. */
  end(): Promise<ToolOutcome>
}

const failed = 'The tool failed.'

/** `id`: unlike all others of the answer. */
export function beginCall(
  { name, args }: WrittenCall,
  id: string,
  { tools, context }: { readonly tools: ReadonlyMap<string, Tool>; readonly context: ToolContext },
): BegunCall {
  const read = readArgs(args)
  const tool = tools.get(name)
  const part: ToolCallPart = { kind: 'tool_call', id, name, args: read.args }
  const fault = tool ? (read.fault ?? tool.findFault(read.args)) : 'There is no such tool.'
  if (!tool || fault) return { part, end: async () => ({ error: { message: fault ?? failed } }) }
  return { part, tool, end: () => runTool(tool, read.args, context) }
}

export async function runTool(tool: Tool, args: unknown, context: ToolContext): Promise<ToolOutcome> {
  try {
    return { result: toToolResult(await endWithTurn(tool.run(args, context), context.signal)) }
  } catch (error) {
    context.signal.throwIfAborted()
    context.log.warn({ tool: tool.name, err: error }, 'a tool failed')
    return { error: { message: isPresentable(error) ? error.message : failed } }
  }
}

/** A tool that ignores its signal must not block the turn. */
async function endWithTurn(running: unknown, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([running, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The messages of these errors are safe to show. */
function isPresentable(error: unknown): error is Error {
  return error instanceof Rejection || error instanceof Unavailable || error instanceof Undeliverable
}

function readArgs(text: string): { readonly args: unknown; readonly fault?: string } {
  if (text.trim() === '') return { args: {} }
  try {
    return { args: parseJsonText(text) }
  } catch {
    return { args: text, fault: 'The arguments are not valid JSON.' }
  }
}
