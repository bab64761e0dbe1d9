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
