// Parses the arguments of a tool call and runs the tool within the turn.
import type { ToolCallPart } from '@postern/message'
import {
  invisibleFlag,
  parseJsonText,
  Rejection,
  readVisibleText,
  readVisibleValue,
  toWellFormed,
  Unavailable,
  Undeliverable,
} from '@postern/message'
import type { AnswerFile } from '../tools/tool-files.ts'
import { describeFile, extractFiles } from '../tools/tool-files.ts'
import type {
  MatchingRule,
  RuledTool,
  Tool,
  Toolbox,
  ToolContext,
  ToolOutcome,
  ToolTurnContext,
} from '../tools/tools.ts'
import { toToolResult } from '../tools/tools.ts'
import type { ModelToolCall } from './round.ts'

/** A parsed call of the model that is ready to run. */
export interface PreparedCall {
  readonly part: ToolCallPart
  /** The tool that runs; absent if the call cannot run. */
  readonly tool?: RuledTool | undefined
  /** The rule that applies to the call; absent if none does. */
  readonly rule?: MatchingRule | undefined
  /** Runs the call. It throws only if the turn is over, because the model must get every other failure. */
  run(context: ToolTurnContext): Promise<ToolOutcome>
}

const failedMessage = 'The tool failed.'

/** Parses a call and prepares its run. `id` must be unique in the answer. */
export function prepareCall(
  { name, args }: ModelToolCall,
  id: string,
  { tools }: { readonly tools: Toolbox['tools'] },
): PreparedCall {
  const parsedArgs = readArgs(args)
  const tool = tools.get(name)
  const part: ToolCallPart = { kind: 'tool_call', id, name, args: parsedArgs.args }
  const errorMessage = tool ? (parsedArgs.errorMessage ?? tool.findFault(parsedArgs.args)) : 'There is no such tool.'
  const rule = tool?.findRule(parsedArgs.args)
  if (!tool || errorMessage)
    return { part, rule, run: async () => ({ error: { message: errorMessage ?? failedMessage } }) }
  return { part, tool, rule, run: context => runTool(tool, parsedArgs.args, context) }
}

/** Runs a tool. A failure becomes the outcome of the call; the function throws only if the turn is over. */
export async function runTool(tool: Tool, args: unknown, context: ToolTurnContext): Promise<ToolOutcome> {
  const attachedFiles: AnswerFile[] = []
  const attach: ToolContext['attach'] = (bytes, details) => void attachedFiles.push(describeFile(bytes, details))
  try {
    const toolOutput = extractFiles(await endWithTurn(tool.run(args, { ...context, attach }), context.signal))
    const toolResult = toToolResult(toolOutput.result)
    const files = [...attachedFiles, ...toolOutput.files]
    // A result may contain text of strangers: pages, mails, the answers of MCP servers.
    const { value: result, removed } = readVisibleValue(toolResult)
    return { result, ...(removed > 0 && { flags: [invisibleFlag] }), ...(files.length > 0 && { files }) }
  } catch (error) {
    context.signal.throwIfAborted()
    context.log.warn({ tool: tool.name, err: error }, 'a tool failed')
    return { error: { message: isPresentable(error) ? readVisibleText(error.message).text : failedMessage } }
  }
}

/** Ends the wait for a tool with the turn, so that a tool that ignores its signal does not block the turn. */
async function endWithTurn(runningTool: unknown, signal: AbortSignal): Promise<unknown> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, runningTool])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Returns true for errors whose messages are safe to show. */
function isPresentable(error: unknown): error is Error {
  return error instanceof Rejection || error instanceof Unavailable || error instanceof Undeliverable
}

function readArgs(text: string): { readonly args: unknown; readonly errorMessage?: string } {
  if (text.trim() === '') return { args: {} }
  try {
    return { args: toWellFormed(parseJsonText(text)) }
  } catch {
    return { args: text, errorMessage: 'The arguments are not valid JSON.' }
  }
}
