import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { postSignedMail } from '../setup/signed-mail.ts'

let gateway: MailGateway
let count = 0

beforeAll(async () => {
  gateway = await openMailGateway({ runsAgents: true, config: { answer_lists: true } })
})
afterAll(() => gateway.close())

interface ListPost {
  readonly from?: string
  readonly to?: string
  readonly fields: readonly string[]
  readonly domain?: string
  /** The fields that the signature does not cover. */
  readonly unsigned?: readonly string[]
}

/** Posts a mail of a list, and returns the recipients of the answer, the flags of the mail and its record. */
async function postListMail({
  from = 'Ann via Team <team@list.example>',
  to = 'team@list.example',
  fields,
  domain = 'list.example',
  unsigned = [],
}: ListPost) {
  count += 1
  const id = `list${count}@example.org`
  const lines = [
    `From: ${from}`,
    `To: ${to}`,
    'Subject: Question',
    `Date: ${new Date(gateway.system.now()).toUTCString()}`,
    `Message-ID: <${id}>`,
    ...fields,
    ...unsigned,
    `Cc: echo@${mailDomain}`,
    '',
    `Is the hall free? ${count}`,
  ]
  const names = lines.slice(0, -2).map(line => line.split(':', 1)[0] ?? '')
  const signedFields = names.filter(name => !unsigned.some(field => field.startsWith(`${name}:`)))
  const intakeResponse = await postSignedMail(gateway, { domain, lines, fields: signedFields })
  expect(intakeResponse.status).toBe(200)
  const findRecord = () => gateway.store.findMessage(id)
  await expect.poll(async () => (await findRecord())?.state).toMatch(/^(?:ignored|answered)$/)
  const record = await findRecord()
  return { to: record?.deliveries.map(delivery => delivery.to) ?? [], flags: record?.flags ?? [], record }
}

const listId = 'List-Id: Team <team.list.example>'
const listPost = 'List-Post: <mailto:team@list.example>'
const replyToAnn = 'Reply-To: Ann <ann@example.net>'

describe('a list that puts itself into From (RFC 7960 §4.1.3.1)', () => {
  test.each<[program: string, post: ListPost]>([
    ['Mailman with the author in Reply-To', { fields: [listId, listPost, 'Precedence: list', replyToAnn] }],
    ['Mailman with the list beside the author', { fields: [listPost, `${replyToAnn}, Team <team@list.example>`] }],
    [
      'Google Groups with replies to the group',
      {
        from: "'Ann' via Team <team@list.example>",
        fields: [
          'Precedence: list',
          'Mailing-list: list team@list.example; contact team+owners@list.example',
          'List-Post: <https://groups.google.com/a/list.example/group/team/post>, <mailto:team@list.example>',
          'X-Original-From: Ann <ann@example.net>',
          'Reply-To: team@list.example',
        ],
      },
    ],
    [
      'Sympa',
      {
        from: '"ann@example.net (via team Mailing List)" <team@list.example>',
        fields: [
          'List-Unsubscribe: <mailto:sympa@list.example?subject=unsubscribe%20team>',
          'X-Original-From: ann@example.net',
        ],
      },
    ],
    ['Google Groups with nothing but its own field', { fields: ['X-Google-Group-Id: 12345', replyToAnn] }],
    ['a list with the field Author', { fields: [listPost, 'Author: Ann <ann@example.net>'] }],
    ['a list that only its commands name', { fields: ['List-Help: <mailto:team-help@list.example>', replyToAnn] }],
    [
      'a list whose identifier is on another host',
      { from: 'Team <team@list.example>', fields: ['List-Id: <team.lists.example>', replyToAnn] },
    ],
    [
      'a list whose identifier is a number',
      {
        from: 'Team <team@list.example>',
        fields: ['List-Id: <0123abcd.list.example>', 'List-Archive: <https://list.example/a>', replyToAnn],
      },
    ],
    ['a list with nothing but its Sender', { fields: ['Sender: team-bounces@list.example', replyToAnn] }],
    ['a list with nothing but its Errors-To', { fields: ['Errors-To: <team-owner@list.example>', replyToAnn] }],
    ['a list with nothing but the original From', { fields: ['X-Original-From: Ann <ann@example.net>'] }],
    ['a list with nothing but the field Author', { fields: ['Author: Ann <ann@example.net>'] }],
    [
      'a list that only the mail addresses',
      { from: 'Team <team@list.example>', fields: ['Precedence: list', replyToAnn] },
    ],
  ])('%s makes the gateway answer only the author', async (_program, post) => {
    const { to, record } = await postListMail(post)
    expect(to).toEqual(['ann@example.net'])
    expect(record?.message.parts).toContainEqual(
      expect.objectContaining({ kind: 'email', answer_to: 'ann@example.net' }),
    )
  })

  test.each<[what: string, post: ListPost]>([
    ['names nobody else', { fields: [listId, listPost, 'Mail-Followup-To: team@list.example'] }],
    ['has itself in Reply-To', { fields: [listPost, 'Reply-To: Team <team@list.example>'] }],
    ['names two people', { fields: [listPost, `${replyToAnn}, Bo <bo@example.net>`] }],
    ['names a mailbox that nobody reads', { fields: [listPost, 'Reply-To: no-reply@example.net'] }],
    ['names our own agent', { fields: [listPost, `Reply-To: helper@${mailDomain}`] }],
    ['has a Reply-To that its signature does not cover', { fields: [listPost], unsigned: [replyToAnn] }],
  ])('that %s gets no answer', async (_what, post) => {
    const { to, flags } = await postListMail(post)
    expect(to).toEqual([])
    expect(flags).toEqual(expect.arrayContaining(['list', 'list_author_unknown']))
  })

  test.each([
    'Ann über Team',
    '"ann@example.net (via Team)"',
    'Ann, via: Team',
    'Ann a través de Team',
    '=?utf-8?b?QW5uIChUZWFtIOe1jOeUsSk=?=',
    'Ann (via Team)',
    '=?utf-8?q?Ann_=C3=BCber_Team?=',
  ])('as "%s" makes the gateway answer only the author', async name => {
    const from = `${name.includes(',') ? `"${name}"` : name} <0123@list.example>`
    const post = { from, to: 'x@list.example', fields: ['List-Id: Team <4567.lists.example>'] }
    expect((await postListMail({ ...post, fields: [...post.fields, replyToAnn] })).to).toEqual(['ann@example.net'])
    expect((await postListMail(post)).flags).toContain('list_author_unknown')
  })

  test('gets no answer at another of its hosts that its Reply-To names', async () => {
    const fields = ['List-Id: <0123.lists.example>', 'Reply-To: team@lists.example']
    expect((await postListMail({ from: 'Team <team@list.example>', fields })).to).toEqual([])
  })

  test('gives each author a separate conversation with the agent', async () => {
    const firstResult = await postListMail({ fields: [listPost, replyToAnn] })
    const id = firstResult.record?.message.id
    const otherResult = await postListMail({
      fields: [listPost, 'Reply-To: Bo <bo@example.net>', `References: <${id}>`],
    })
    const sameAuthorResult = await postListMail({ fields: [listPost, replyToAnn, `References: <${id}>`] })
    expect(otherResult.record?.thread).not.toBe(firstResult.record?.thread)
    expect(sameAuthorResult.record?.thread).toBe(firstResult.record?.thread)
  })
})

describe('a person in From', () => {
  test.each<[what: string, fields: readonly string[]]>([
    ['of a list that names itself in Reply-To', [listPost, 'Reply-To: team@example.net']],
    ['of a list that asks for follow-ups', [listId, 'Mail-Followup-To: team@list.example, ann@example.net']],
    ['who owns the list', [listId, 'List-Owner: <mailto:ann@example.net>']],
    ['whom the list has beside its address', [listPost, 'Cc: ann@example.net']],
  ])('%s gets the answer alone', async (_what, fields) => {
    const lines = fields.filter(field => !field.startsWith('Cc:'))
    const to = fields.length > lines.length ? 'team@list.example, ann@example.net' : 'team@list.example'
    const result = await postListMail({ from: 'Ann <ann@example.net>', to, fields: lines, domain: 'example.net' })
    expect(result.to).toEqual(['ann@example.net'])
  })

  test.each([
    ['an Author that is From', 'Author: Ann <ann@example.net>'],
    ['a Sender of their own office', 'Sender: office@example.net'],
  ])('with %s is no list', async (_what, field) => {
    const result = await postListMail({ from: 'Ann <ann@example.net>', fields: [field], domain: 'example.net' })
    expect(result.to).toEqual(['ann@example.net'])
    expect(result.flags).not.toContain('by_list')
  })

  test('gets the answer at the address that the list created for them', async () => {
    const from = 'Ann via lists <ann=example.net@list.example>'
    expect((await postListMail({ from, fields: [listPost] })).to).toEqual(['ann=example.net@list.example'])
  })
})
