import type { NormalizedMessage } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { readPersonCommand } from './person-commands.ts'

const readCommand = (content: string, overrides: object = {}) =>
  readPersonCommand({
    parts: [{ kind: 'text', mime: 'text/plain', content }],
    ...overrides,
  } as unknown as NormalizedMessage)

describe('readPersonCommand()', () => {
  test.each([
    ['link alice@example.org', { name: 'link', address: 'alice@example.org' }],
    [' Link   @alice@mastodon.example\n', { name: 'link', address: '@alice@mastodon.example' }],
    ['link acct:a@b.example.', { name: 'link', address: 'acct:a@b.example' }],
    ['link https://b.example/@a', { name: 'link', address: 'https://b.example/@a' }],
    ['link @alice', { name: 'link', address: '@alice' }],
    ['unlink a@b.example', { name: 'unlink', address: 'a@b.example' }],
    ['confirm abcde-fghjk', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: false }],
    ['confirm abcde fghjk', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: false }],
    ['link ABCDEFGHJK', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: false }],
    ['ABCDE-FGHJK', { name: 'confirm', code: 'ABCDE-FGHJK', isBare: true }],
    ['linked', { name: 'linked' }],
    ['Forget me!', { name: 'forget' }],
    ['forget me\n-- \nAlice\nalice@example.org', { name: 'forget' }],
  ])('reads %j', (text, command) => {
    expect(readCommand(text)).toEqual(command)
  })

  test.each([
    '',
    'link',
    'link me',
    'please link a@b.example',
    'link a@b.example and c@d.example',
    'unlinked',
    'confirm 01IOl-ABCDE',
    'ABCDEFGHJK',
    'never forget me',
    'forget me not',
    `link ${'a'.repeat(600)}@b.example`,
  ])('does not treat %j as a command', text => {
    expect(readCommand(text)).toBeUndefined()
  })

  test('ignores a message with a file, with two texts or without a text', () => {
    const file = { kind: 'file', bytes_ref: { kind: 'url', url: 'https://x.example/' } }
    const text = { kind: 'text', mime: 'text/plain', content: 'linked' }
    expect(readCommand('', { parts: [text, file] })).toBeUndefined()
    expect(readCommand('', { parts: [text, text] })).toBeUndefined()
    expect(readCommand('linked', { kind: 'edit' })).toBeUndefined()
  })
})
