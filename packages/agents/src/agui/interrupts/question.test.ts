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
  [
    'all arguments of its tool call',
    { call: { name: 'delete', args: { customer_id: 17, reason: 'fraud', type: 'hard', paid: true, id: null } } },
    'May the agent call `delete`?\n\n- customer_id: 17\n- reason: fraud\n- type: hard\n- paid: true\n- id: null',
  ],
  ['arguments that are no object', { call: { name: 'delete', args: [17] } }, 'May the agent call `delete`?\n\n[17]'],
  [
    'all arguments of a call that LangChain wants reviewed',
    { interruptValue: { action_requests: [{ name: 'transfer', args: { account_id: 'DE99', valid: 20 } }] } },
    'May the agent call `transfer`?\n\n- account_id: DE99\n- valid: 20',
  ],
  [
    'the members of a value that only look like identifiers',
    { interruptValue: { paid: 20, valid: false, account_id: 7, reason: 'no receipt' } },
    '- paid: 20\n- valid: false\n- account_id: 7\n- reason: no receipt',
  ],
  [
    'the members beside an empty list of calls',
    { interruptValue: { action_requests: [], euros: 20 } },
    '- action_requests: []\n- euros: 20',
  ],
  [
    'its tool call, with the members of a value',
    { interruptValue: { type: 'confirm', toolCallId: 'call_1' }, call: { name: 'pay', args: { euros: 20 } } },
    'May the agent call `pay`?\n\n- euros: 20\n\n- type: confirm',
  ],
  ['a tool call without arguments', { call: { name: 'pay', args: undefined } }, 'May the agent call `pay`?'],
  ['a reason that is a sentence', { reason: 'Something is missing' }, 'Something is missing'],
])('the question text comes from %s', (_what, source, question) => {
  expect(formatQuestion(source)).toBe(question)
})

test.each<[QuestionSource]>([
  [{ reason: 'langgraph:interrupt' }],
  [{ message: ' ', reason: 'tool_call' }],
  [
    {
      interruptValue: {
        id: 'i1',
        interrupt_id: 'i1',
        toolCallId: 'call_1',
        ns: [],
        when: 'during',
        responseSchema: {},
      },
    },
  ],
  [{ interruptValue: 7 }],
  [{}],
])('the question text never comes from an identifier: %j', source => {
  expect(formatQuestion(source)).toBe(waits)
})

test('the question text has at most 8,000 characters', () => {
  expect(formatQuestion({ message: 'x'.repeat(1_000_000) })).toHaveLength(8_000)
  const members = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`m${index}`, index]))
  expect(formatQuestion({ interruptValue: members }).split('\n')).toHaveLength(32)
})
