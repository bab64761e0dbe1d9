import { expectTypeOf, test } from 'vitest'
import type { AgentCallAnswer, ArgumentsOf, FilePart, Json, MailPart, MessageKind, Part, TextPart } from './index.ts'
import { defineAgent, defineTool, json, Rejection, Unavailable, Undeliverable } from './index.ts'

// `npm run types` fails if a type differs from the one that this test states.

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

test('an agent may answer, stream or stay silent, and may return nothing else', () => {
  defineAgent({ handle: (message, context) => `${message.thread_id} ${context.responseId}` })
  defineAgent({ handle: () => undefined, close: () => undefined })
  defineAgent({
    async *handle() {
      yield 'a piece'
    },
  })
  defineAgent({ handle: () => json({ order: 4711 }, 'order.json') })
  defineAgent({ handle: () => ({ parts: [{ kind: 'text', content: 'Markdown' }, json([1])] }) })
  // @ts-expect-error: an artifact has bytes or data
  defineAgent({ handle: () => ({ parts: [{ kind: 'artifact', name: 'order.json' }] }) })
  // @ts-expect-error: a number is no answer
  defineAgent({ handle: () => 3 })
})

test('a message has its kind, and each part the members of its own kind', () => {
  defineAgent({
    handle(message) {
      expectTypeOf(message.kind).toEqualTypeOf<MessageKind>()
      for (const part of message.parts) {
        if (part.kind === 'email') expectTypeOf(part).toEqualTypeOf<MailPart>()
        if (part.kind === 'text') expectTypeOf(part).toEqualTypeOf<TextPart>()
        if (part.kind === 'file') expectTypeOf(part).toEqualTypeOf<FilePart>()
      }
      const mail = message.parts.find(part => part.kind === 'email')
      expectTypeOf(mail?.subject).toEqualTypeOf<string | undefined>()
      // @ts-expect-error: no part has this kind
      return message.parts.some((part: Part) => part.kind === 'letter') ? 'a letter' : undefined
    },
  })
})

test('an agent may pass on received parts, and another agent’s answer', () => {
  defineAgent({ handle: message => ({ parts: message.parts }) })
  defineAgent({ handle: (message, context) => context.call('@other@agents.example', message.parts) })
  defineAgent({
    async handle(message, context) {
      const answer = await context.call('@other@agents.example', message.parts)
      expectTypeOf(answer).toEqualTypeOf<AgentCallAnswer>()
      return answer.status === 'completed' ? answer : { ...answer, status: 'failed' }
    },
  })
  // @ts-expect-error: nobody writes the part of a mail
  defineAgent({ handle: () => ({ parts: [{ kind: 'email', subject: 'Hello' }] }) })
})

test('the state of an agent has its declared type, or is any JSON', () => {
  interface Visits {
    readonly count: number
  }
  defineAgent<Visits>({
    async handle(_message, { state }) {
      const before = await state.get()
      expectTypeOf(before).toEqualTypeOf<Visits | undefined>()
      state.set({ count: (before?.count ?? 0) + 1 })
      // @ts-expect-error: it keeps a count
      state.set({ number: 1 })
      return undefined
    },
  })
  defineAgent({
    async handle(_message, { state }) {
      expectTypeOf(await state.get()).toEqualTypeOf<Json | undefined>()
      return undefined
    },
  })
})

test('every error of the gateway has a code', () => {
  expectTypeOf(new Unavailable('later').code).toEqualTypeOf<'unavailable'>()
  expectTypeOf(new Undeliverable('never').code).toEqualTypeOf<'undeliverable'>()
  expectTypeOf(new Rejection('forbidden', 'no').code).toExtend<string>()
})
