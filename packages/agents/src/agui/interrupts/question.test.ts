import { expect, test } from 'vitest'
import type { QuestionSource } from './question.ts'
import { formatQuestion } from './question.ts'

const waits = 'The agent waits for your answer.'

test.each<[what: string, source: QuestionSource, question: string]>([
  ['its message', { message: 'Really?', interruptValue: 'Else?', reason: 'a b' }, 'Really?'],
  ['a value that is a text', { interruptValue: 'Which size?' }, 'Which size?'],
  ['the words of a value', { interruptValue: { type: 'pick', prompt: 'Which size?', sizes: ['S'] } }, 'Which size?'],
  [
    'the members of a value',
    { interruptValue: { amount: 20, order: { id: 7 }, note: null } },
    '- amount: 20\n- order: {"id":7}',
  ],
  ['each of several values', { interruptValue: [{ question: 'One?' }, 'Two?', ['no']] }, 'One?\n\nTwo?'],
  [
    'the calls that LangChain wants reviewed',
    {
      interruptValue: {
        action_requests: [
          { name: 'mail', args: { to: 'Bob' }, description: 'Send this mail?' },
          { name: 'pay', args: { euros: 20 } },
        ],
        review_configs: [],
      },
    },
    'Send this mail?\n\nMay the agent call `pay`?\n\n- euros: 20',
  ],
  ['its tool call', { call: { name: 'pay', args: { euros: 20 } } }, 'May the agent call `pay`?\n\n- euros: 20'],
  ['a tool call without arguments', { call: { name: 'pay', args: undefined } }, 'May the agent call `pay`?'],
  ['a reason that is a sentence', { reason: 'Something is missing' }, 'Something is missing'],
])('the question text comes from %s', (_what, source, question) => {
  expect(formatQuestion(source)).toBe(question)
})

test.each<[QuestionSource]>([
  [{ reason: 'langgraph:interrupt' }],
  [{ message: ' ', reason: 'tool_call' }],
  [{ interruptValue: { type: 'confirm', toolCallId: 'call_1', ns: [], responseSchema: {} } }],
  [{ interruptValue: 7 }],
  [{}],
])('the question text never comes from an identifier: %j', source => {
  expect(formatQuestion(source)).toBe(waits)
})

test('the question text has at most 8,000 characters', () => {
  expect(formatQuestion({ message: 'x'.repeat(1_000_000) })).toHaveLength(8_000)
  const about = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`m${index}`, index]))
  expect(formatQuestion({ interruptValue: about }).split('\n')).toHaveLength(32)
})
