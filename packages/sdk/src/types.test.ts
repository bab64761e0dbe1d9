import { expectTypeOf, test } from 'vitest'
import type { ArgumentsOf } from './index.ts'
import { defineAgent, defineTool } from './index.ts'

// `npm run types` fails where a type is not what is said here.

test('the arguments of a tool have the types of its JSON Schema', () => {
  defineTool({
    description: 'orders',
    parameters: {
      type: 'object',
      properties: {
        size: { enum: ['small', 'large'] },
        count: { type: 'integer' },
        extras: { type: 'array', items: { type: 'string' } },
        to: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        note: { type: ['string', 'null'] },
        anything: {},
      },
      required: ['size', 'to'],
    },
    run(args, { message }) {
      expectTypeOf(args.size).toEqualTypeOf<'small' | 'large'>()
      expectTypeOf(args.count).toEqualTypeOf<number | undefined>()
      expectTypeOf(args.extras).toEqualTypeOf<readonly string[] | undefined>()
      expectTypeOf(args.to.name).toEqualTypeOf<string>()
      expectTypeOf(args.note).toEqualTypeOf<string | null | undefined>()
      expectTypeOf(args.anything).toEqualTypeOf<unknown>()
      expectTypeOf(message.sender.verified).toEqualTypeOf<boolean>()
      // @ts-expect-error: the schema names no such argument
      return args.colour
    },
  })
  expectTypeOf<ArgumentsOf<{ readonly const: 3 }>>().toEqualTypeOf<3>()
})

test('an agent may answer, stream or stay silent, and may give nothing else', () => {
  defineAgent({ handle: (message, context) => `${message.thread_id} ${context.responseId}` })
  defineAgent({ handle: () => undefined, close: () => undefined })
  defineAgent({
    async *handle() {
      yield 'a piece'
    },
  })
  // @ts-expect-error: a number is no answer
  defineAgent({ handle: () => 3 })
})
