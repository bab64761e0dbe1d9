import { expect, test } from 'vitest'
import { decodeMailHeader, readMail } from './sink.ts'

const read = (lines: readonly string[]) => readMail(Buffer.from(lines.join('\r\n')))

test('readMail() unfolds headers and finds the ids', () => {
  const mail = read([
    'Message-ID: <one@a.test>',
    'In-Reply-To: <zero@a.test>',
    'References: <minus@a.test>',
    '\t<zero@a.test>',
    'Received: first',
    'Received: second',
    '',
    'text',
  ])
  expect(mail).toMatchObject({
    messageId: 'one@a.test',
    inReplyTo: 'zero@a.test',
    references: ['minus@a.test', 'zero@a.test'],
    text: 'text',
  })
  expect(mail.headers.get('received')).toEqual(['first', 'second'])
})

test('readMail() decodes the leaves of nested multiparts', () => {
  const mail = read([
    'Content-Type: multipart/mixed; boundary="outer"',
    '',
    '--outer',
    'Content-Type: multipart/alternative; boundary=inner',
    '',
    '--inner',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Gr=C3=BC=C3=9Fe, a soft=',
    ' break',
    '--inner',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('<p>Grüße</p>').toString('base64'),
    '--inner--',
    '--outer--',
    '',
  ])
  expect(mail).toMatchObject({ text: 'Grüße, a soft break', html: '<p>Grüße</p>' })
})

test('readMail() reads a mail without a body and one without text', () => {
  expect(read(['Subject: x', '', '']).text).toBe('')
  expect(read(['Content-Type: image/png', '', 'x']).text).toBeUndefined()
})

test('readMail() lists the leaves that have a file name, with their bytes', () => {
  const mail = read([
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'hello',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    "Content-Disposition: attachment; filename*=utf-8''%C3%B6l.txt",
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('Öl').toString('base64'),
    '--b',
    'Content-Type: image/png',
    'Content-Disposition: inline; filename="a b.png"',
    '',
    'x',
    '--b--',
    '',
  ])
  expect(mail.text).toBe('hello')
  expect(mail.files.map(({ bytes, ...file }) => ({ ...file, text: Buffer.from(bytes).toString().trim() }))).toEqual([
    { kind: 'file', name: 'öl.txt', mime: 'text/plain', text: 'Öl' },
    { kind: 'file', name: 'a b.png', mime: 'image/png', text: 'x' },
  ])
})

test('decodeMailHeader() joins adjacent encoded words of a header, and keeps other text', () => {
  expect(decodeMailHeader('Re: =?UTF-8?Q?Gr=C3=BC=C3=9Fe_aus?= =?utf-8?b?IMOWbA==?= (2)')).toBe('Re: Grüße aus Öl (2)')
})
