import type { ToolContext, ToolDefinition } from '@postern/agents'
import type { ArgumentsOf, JsonSchema } from './arguments-of.ts'

/** A tool whose arguments have the types that its JSON Schema says. */
export interface TypedTool<Schema extends JsonSchema> {
  /**
   * What the tool does, for the model.
   *
   * @example
   * description: 'When the shop is open on a day of the week'
   */
  readonly description: string
  /**
   * JSON Schema of the arguments, an object. Without it the tool takes no arguments.
   *
   * @example
   * parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }
   */
  readonly parameters?: Schema
  /**
   * Runs the tool. It returns JSON or text. The gateway logs what it throws; the model learns only that it failed.
   *
   * @example
   * run: ({ day }) => ({ open: day === 'Sunday' ? 'closed' : 'nine to six' })
   */
  run(args: ArgumentsOf<Schema>, context: ToolContext): unknown
  /**
   * Says in words what a run would do, for the person who has to allow it. It changes nothing.
   *
   * @example
   * preview: ({ amount }) => `Refunds ${amount} EUR`
   */
  preview?(args: ArgumentsOf<Schema>, context: ToolContext): unknown
}

/**
 * Names the types of a tool: those of its arguments follow from `parameters`. It returns what it is given.
 *
 * @example
 * // agents/tools.ts: every export is a tool, by the name that the model calls
 * import { defineTool } from 'postern'
 *
 * export const opening_hours = defineTool({
 *   description: 'When the shop is open on a day of the week',
 *   parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
 *   run: ({ day }) => (day === 'Sunday' ? 'closed' : 'nine to six'),
 * })
 */
export function defineTool<const Schema extends JsonSchema = { readonly type: 'object' }>(
  tool: TypedTool<Schema>,
): ToolDefinition {
  return tool
}
