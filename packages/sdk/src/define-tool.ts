import type { ToolContext, ToolDefinition } from '@postern/agents'

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

/** A JSON Schema as it is written in a source file. */
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

/** The values that a JSON Schema allows, as far as `type`, `properties`, `required`, `items`, `enum` and `const` say. */
export type ArgumentsOf<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: readonly (infer Type)[] }
      ? Typed<Schema, Type>
      : Schema extends { readonly type: infer Type }
        ? Typed<Schema, Type>
        : unknown
