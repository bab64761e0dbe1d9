import type { Part, Policy } from '@postern/message'
import { hasRequirements, hideRequirements, showRequirements, translatePolicy } from '@postern/message'
import { expect, test } from 'vitest'
import { createShowRequirement } from './requirements.ts'

const origin = 'https://agents.test'
const state = 'S'.repeat(43)
const show = createShowRequirement({ origin, stateOf: id => id.padEnd(43, 'S') })
const createPolicyPart = (policy: Partial<Policy>): Part => ({
  kind: 'policy',
  policy: { kind: 'consent_required', message: '?', ...policy },
})

test('a requirement shows its state and its page, or the agent’s page, and other parts stay unchanged', () => {
  const text: Part = { kind: 'text', mime: 'text/plain', content: 'hi' }
  expect(
    showRequirements(
      [
        text,
        createPolicyPart({ requirement: '' }),
        createPolicyPart({ requirement: '', url: `${origin}/own` }),
        createPolicyPart({}),
      ],
      show,
    ),
  ).toEqual([
    text,
    createPolicyPart({ requirement: '', state, url: `${origin}/actions/${state}` }),
    createPolicyPart({ requirement: '', state, url: `${origin}/own` }),
    createPolicyPart({}),
  ])
  const parts = [text]
  expect(showRequirements(parts, show)).toBe(parts)
  expect([
    hasRequirements([createPolicyPart({ requirement: 'd' })]),
    hasRequirements([createPolicyPart({}), text]),
  ]).toEqual([true, false])
})

test('the operator’s copy contains no states or links, at any depth', () => {
  const link = `${origin}/actions/${state}`
  const wire = {
    text: `Yes: ${link}\nNo: ${link}/receipt`,
    html: [`<a href="${link}">`],
    data: { policy: { state, requirement: 'd' }, in_reply_to_state: state },
    state: 'sent',
    other: state,
    none: null,
  }
  expect(hideRequirements(wire)).toEqual({
    text: `Yes: ${origin}/actions/…\nNo: ${origin}/actions/…/receipt`,
    html: [`<a href="${origin}/actions/…">`],
    data: { policy: { state: '…', requirement: 'd' }, in_reply_to_state: '…' },
    state: 'sent',
    other: state,
    none: null,
  })
})

test('the gateway translates a text by the full language tag, else its primary subtag, or not at all', () => {
  const message_translations = { DE: { title: 'Titel', message: 'Darf ich?' }, 'pt-BR': { message: 'Posso?' } }
  const policy = { kind: 'consent_required', title: 'Title', message: 'May I?', message_translations }
  const wordsIn = (...locales: string[]) => {
    const { title, message } = translatePolicy(policy, locales)
    return [title, message]
  }
  expect(wordsIn('de-AT')).toEqual(['Titel', 'Darf ich?'])
  expect(wordsIn('pt_br')).toEqual(['Title', 'Posso?'])
  expect(wordsIn('pt')).toEqual(['Title', 'May I?'])
  expect(wordsIn('fr', 'de')).toEqual(['Titel', 'Darf ich?'])
  expect(wordsIn('constructor', '')).toEqual(['Title', 'May I?'])
})
