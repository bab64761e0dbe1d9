import type { NormalizedResponse, Part, Visibility } from '@postern/message'
import { expect, test } from 'vitest'
import type { ReplyTarget } from '../format/post-data.ts'
import { readRendering, toStoredJson } from '../format/targets.ts'
import type { PublishedResponse } from './render-post.ts'
import { renderCreate, renderNote } from './render-post.ts'

const origin = 'https://agents.test'
const everybody = 'https://www.w3.org/ns/activitystreams#Public'
const followers = `${origin}/agents/echo/followers`
const alice = 'https://good.test/users/alice'

const target: ReplyTarget = {
  actor: alice,
  address: '@alice@good.test',
  url: 'https://good.test/@alice',
  object: 'https://good.test/notes/1',
  context: 'https://good.test/contexts/1',
  conversation: 'tag:good.test,2026:1',
  visibility: 'public',
}

const response: NormalizedResponse = {
  id: 'r1',
  thread_id: 't',
  in_reply_to: 'm',
  sender: '@echo@agents.test',
  parts: [{ kind: 'text', mime: 'text/markdown', content: 'Hello **you**' }],
  status: 'completed',
  created_at: '2026-11-21T10:00:00.000Z',
}

/** Returns an answer to `reply` in the form that is rendered. */
function answerTo(reply: ReplyTarget = target, said: NormalizedResponse = response): PublishedResponse {
  return { origin, agent: 'echo', response: said, rendering: readRendering(undefined, toStoredJson(reply), said) }
}

function renderParts(...parts: Part[]): string {
  return String(renderNote(answerTo(target, { ...response, parts })).content)
}

test('renderCreate() wraps the note and derives all ids only from the response', () => {
  const document = renderCreate(answerTo())
  const id = `${origin}/agents/echo/posts/r1`
  const mention =
    '<span class="h-card"><a href="https://good.test/@alice" class="u-url mention">@<span>alice</span></a></span>'
  const content = `<p>${mention} Hello <strong>you</strong></p>`
  expect(document).toMatchObject({
    id: `${id}/activity`,
    type: 'Create',
    actor: `${origin}/agents/echo`,
    published: response.created_at,
    to: [everybody],
    cc: [followers, alice],
    object: {
      id,
      type: 'Note',
      url: id,
      attributedTo: `${origin}/agents/echo`,
      inReplyTo: target.object,
      context: target.context,
      conversation: target.conversation,
      published: response.created_at,
      to: [everybody],
      cc: [followers, alice],
      summary: null,
      sensitive: false,
      content,
      tag: [{ type: 'Mention', href: alice, name: '@alice@good.test' }],
    },
  })
  expect(renderCreate(answerTo())).toEqual(document)
})

const direct = { to: [alice], cc: [] }
test.each<[Visibility, Visibility | undefined, object]>([
  ['public', undefined, { to: [everybody], cc: [followers, alice] }],
  ['public', 'unlisted', { to: [followers], cc: [everybody, alice] }],
  ['public', 'followers', { to: [followers], cc: [alice] }],
  ['public', 'direct', direct],
  ['unlisted', undefined, { to: [followers], cc: [everybody, alice] }],
  ['unlisted', 'public', { to: [followers], cc: [everybody, alice] }],
  ['followers', undefined, direct],
  ['followers', 'public', direct],
  ['direct', undefined, direct],
  ['direct', 'public', direct],
])(
  'renderNote() answers a %s post with requested visibility %s no more publicly than the post',
  (visibility, wanted, audience) => {
    const answered = { ...response, ...(wanted && { visibility: wanted }) }
    const note = renderNote(answerTo({ ...target, visibility }, answered))
    expect(note).toMatchObject(audience)
  },
)

test('renderNote() keeps the content warning and the language', () => {
  const note = renderNote(answerTo({ ...target, summary: 'spoilers', language: 'de' }))
  expect(note).toMatchObject({ summary: 'spoilers', sensitive: true, contentMap: { de: note.content } })
})

test('renderNote() adds other mentioned people to the content, `tag` and `cc`', () => {
  const bob = { href: 'https://other.test/users/bob', name: '@bob@other.test', url: 'https://other.test/@bob' }
  const said = { ...response, mentions: [bob.name] }
  const note = renderNote({ ...answerTo(target, said), mentions: [bob] })
  expect(note.cc).toEqual([followers, alice, bob.href])
  expect(note.tag).toContainEqual({ type: 'Mention', href: bob.href, name: bob.name })
  expect(note.content).toContain('href="https://other.test/@bob"')
})

test('renderNote() mentions an actor without a confirmed name by its IRI', () => {
  const note = renderNote(answerTo({ ...target, address: undefined, url: undefined }))
  expect(note.tag).toEqual([{ type: 'Mention', href: alice, name: alice }])
  expect(note.content).toContain(`<a href="${alice}" class="u-url mention">`)
})

test('renderNote() renders every kind of part as text', () => {
  const url = 'https://x.test/a.png'
  expect(renderParts({ kind: 'link', url: 'https://x.test/', title: 'X', description: 'a page' })).toContain(
    '>X</a>: a page</p>',
  )
  expect(renderParts({ kind: 'file', name: 'a.png', bytes_ref: { kind: 'url', url } })).toContain('>a.png</a></p>')
  expect(renderParts({ kind: 'tool_call', id: '1', name: 'find', result: 7 })).toContain('<code>find</code>: done</p>')
  const failed: Part = { kind: 'tool_call', id: '1', name: 'find', error: { message: 'no <luck>' } }
  expect(renderParts(failed)).toContain('<code>find</code>: failed, no &lt;luck&gt;</p>')
  const policy = { kind: 'payment_required', message: 'Pay first', url: 'https://agents.test/pay', action_label: 'Pay' }
  expect(renderParts({ kind: 'policy', policy })).toContain('Pay first <a href="https://agents.test/pay"')
  expect(renderParts({ kind: 'text', mime: 'text/plain', content: 'a <b>\nc' })).toContain('a &lt;b&gt;<br>c</p>')
  expect(renderParts({ kind: 'text', mime: 'text/html', content: '<p>a<script>b</script></p>' })).toContain(' a</p>')
  expect(renderParts({ kind: 'x-unknown' } as never, { kind: 'link', url: 'https://x.test/' })).toContain(
    'https://x.test/',
  )
})

test('renderNote() attaches files that have a URL', () => {
  const file: Part = {
    kind: 'file',
    name: 'cat',
    mime: 'image/png',
    bytes_ref: { kind: 'url', url: 'https://x.test/c' },
  }
  const note = renderNote(answerTo(target, { ...response, parts: [file] }))
  expect(note.attachment).toEqual([{ type: 'Document', url: 'https://x.test/c', mediaType: 'image/png', name: 'cat' }])
})

test('renderNote() describes the status of a response without text', () => {
  const failed: NormalizedResponse = { ...response, parts: [], status: 'failed' }
  expect(renderNote(answerTo(target, failed)).content).toContain('This could not be answered.')
})

test('renderNote() attaches only files with web URLs', () => {
  const parts = ['javascript:alert(1)', 'data:text/html,<script>', 'file:///etc/passwd'].map(
    (url): Part => ({ kind: 'file', name: 'cat', mime: 'image/png', bytes_ref: { kind: 'url', url } }),
  )
  const note = renderNote(answerTo(target, { ...response, parts }))
  expect(note.attachment).toBeUndefined()
  expect(note.content).toMatch(/<p>cat<\/p><p>cat<\/p>$/)
})
