// Types a tool of an agent, with its arguments inferred from their JSON Schema.
import type { ToolContext, ToolDefinition, ToolTurnContext } from '@postern/agents'
import type { AgentMessage } from './agent-message.ts'

/** The second argument of a tool's `run`: everything that an agent has, and the message that it answers. */
export interface RunContext extends Omit<ToolContext, 'message'> {
  readonly message: AgentMessage
}

/** A tool as a module exports it, under the name that the model calls. */
export interface RunnableTool extends Omit<ToolDefinition, 'run' | 'preview'> {
  // biome-ignore lint/suspicious/noExplicitAny: the author of the schema knows the type of the arguments
  run(args: any, context: RunContext): unknown
  // biome-ignore lint/suspicious/noExplicitAny: as above
  preview?(args: any, context: PreviewContext): unknown
}

/** The second argument of a tool's `preview`. */
export interface PreviewContext extends Omit<ToolTurnContext, 'message'> {
  readonly message: AgentMessage
}

/** A tool whose arguments have the types that its JSON Schema declares. */
export interface TypedTool<Schema extends JsonSchema> {
  /**
   * The purpose of the tool, for the model.
   *
   * @example
   * description: 'When the shop is open on a day of the week'
   */
  readonly description: string
  /**
   * The JSON Schema of the arguments, which are an object. Without it, the tool has no arguments.
   *
   * @example
   * parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }
   */
  readonly parameters?: Schema
  /**
   * Runs the tool and returns JSON or text. The gateway logs an error, and the model learns only that the tool failed.
   *
   * @example
   * run: ({ day }) => ({ open: day === 'Sunday' ? 'closed' : 'nine to six' })
   */
  run(args: ArgumentsOf<Schema>, context: RunContext): unknown
  /**
   * Describes in words what a run would do, for the person who must allow it. It changes nothing.
   *
   * @example
   * preview: ({ amount }) => `Refunds ${amount} EUR`
   */
  preview?(args: ArgumentsOf<Schema>, context: PreviewContext): unknown
}

/**
 * Declares the types of a tool, of which those of its arguments follow from `parameters`, and returns the tool unchanged.
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
): RunnableTool {
  return tool
}

/** A JSON Schema in the form that a source file contains. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

type Properties<Schema> = Schema extends { readonly properties: infer Found } ? Found : unknown
type Required<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never

type ObjectOf<Schema> = {
  readonly [Name in keyof Properties<Schema> as Name extends Required<Schema> ? Name : never]: ArgumentsOf<
    Properties<Schema>[Name]
  >
} & {
  readonly [Name in keyof Properties<Schema> as Name extends Required<Schema> ? never : Name]?: ArgumentsOf<
    Properties<Schema>[Name]
  >
}

interface Scalars {
  readonly string: string
  readonly number: number
  readonly integer: number
  readonly boolean: boolean
  readonly null: null
}

type Typed<Schema, Type> = Type extends 'object'
  ? ObjectOf<Schema>
  : Type extends 'array'
    ? readonly (Schema extends { readonly items: infer Item } ? ArgumentsOf<Item> : unknown)[]
    : Type extends keyof Scalars
      ? Scalars[Type]
      : unknown

/** The values that a JSON Schema allows, as far as `type`, `properties`, `required`, `items`, `enum` and `const` determine them. */
export type ArgumentsOf<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: readonly (infer Type)[] }
      ? Typed<Schema, Type>
      : Schema extends { readonly type: infer Type }
        ? Typed<Schema, Type>
        : unknown
