// Writes malformed, huge and deeply nested mails, such as spam folders hold.
import { randomBytes } from 'node:crypto'
import { gatewayHost } from '../ours/open.ts'

/** The header fields that describe the structure of the body, and the body. */
interface OddMail {
  readonly fields: readonly string[]
  readonly body: string
}

const textLine = 'The last train back from the coast leaves at 21:40, and takes bicycles.\r\n'
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
const prose = (octets: number) => textLine.repeat(Math.ceil(octets / textLine.length))
const mixed = 'Content-Type: multipart/mixed; boundary=b'
const html = ['Content-Type: text/html; charset=utf-8']
const quotedPrintable = 'Content-Transfer-Encoding: quoted-printable'
const random = randomBytes(700_000)

function withParts(parts: readonly string[], isClosed = true): OddMail {
  return { fields: [mixed], body: `${parts.map(part => `--b\r\n${part}\r\n`).join('')}${isClosed ? '--b--\r\n' : ''}` }
}

function withFile(octets: number, type = 'application/pdf'): OddMail {
  const head = `Content-Type: ${type}; name=file\r\nContent-Transfer-Encoding: base64\r\n\r\n`
  return withParts([`\r\n${textLine}`, `${head}${base64(random.subarray(0, octets))}`])
}

function nested(depth: number): OddMail {
  const open = Array.from(
    { length: depth },
    (_, index) => `--n${index}\r\nContent-Type: multipart/mixed; boundary=n${index + 1}\r\n\r\n`,
  )
  return {
    fields: ['Content-Type: multipart/mixed; boundary=n0'],
    body: `${open.join('')}--n${depth}\r\n\r\n${textLine}`,
  }
}

function inCharset(charset: string, bytes: Buffer): OddMail {
  const fields = [`Content-Type: text/plain; charset=${charset}`, 'Content-Transfer-Encoding: base64']
  return { fields, body: base64(bytes) }
}

/** Shapes of mails from 5 KB to 1 MB, as spam folders, broken programs and attackers send them. */
const shapes: readonly OddMail[] = [
  { fields: [], body: prose(5_000) },
  { fields: html, body: `<p>${prose(50_000)}</p>` },
  withFile(60_000),
  withFile(300_000, 'image/jpeg'),
  withFile(random.length),
  withParts(
    Array.from({ length: 900 }, (_, index) => `Content-Type: text/plain; name=${index}.txt\r\n\r\n${textLine}`),
  ),
  withParts(
    Array.from({ length: 90 }, (_, index) => `Content-Type: image/png; name=${index}.png\r\n\r\n${prose(5_000)}`),
  ),
  withParts(Array.from({ length: 50_000 }, () => '\r\nx')),
  nested(45),
  nested(2_000),
  inCharset('iso-2022-kr', Buffer.from(`\u001b$)C${prose(100_000)}`)),
  inCharset('gb18030', random.subarray(0, 100_000)),
  inCharset('shift_jis', random.subarray(0, 200_000)),
  inCharset('utf-7', random.subarray(0, 50_000)),
  inCharset('no-such-charset', random.subarray(0, 50_000)),
  { fields: [...html, quotedPrintable], body: '=3Cdiv=3E=C3=A4=\r\n'.repeat(30_000) },
  { fields: html, body: '<div style="display:none">x'.repeat(20_000) },
  { fields: html, body: '<table><tr><td style="color:#fff;background:#fff">x</td></tr></table>'.repeat(8_000) },
  { fields: html, body: '<'.repeat(500_000) },
  withParts([`Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\n${prose(200_000)}`]),
  withParts([`Content-Type: text/plain\r\n${quotedPrintable}\r\n\r\n=ZZ=\r\n=${prose(20_000)}`], false),
  { fields: ['Content-Type: multipart/mixed'], body: `--b\r\n\r\n${prose(100_000)}` },
  { fields: [mixed, 'Content-Type: text/html', mixed], body: '--b\r\n--b--\r\n'.repeat(5_000) },
  { fields: Array.from({ length: 800 }, (_, index) => `X-${index}: ${'y'.repeat(200)}`), body: textLine },
  { fields: ['In-Reply-To: <a@nodmarc.test>'], body: `> ${textLine}`.repeat(12_000) },
  { fields: [], body: 'x'.repeat(1_000_000) },
  { fields: [], body: prose(1_000_000) },
]

/** Writes mail number `index` of an endless series in which every shape recurs; no two mails are the same. */
export function writeOddMail(index: number, runId: string): Buffer {
  const { fields, body } = shapes[index % shapes.length] as OddMail
  const head = [
    'From: Bob <bob@nodmarc.test>',
    `To: silent@${gatewayHost}`,
    `Subject: odd (${runId}-${index})`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${runId}-${index}@nodmarc.test>`,
    'MIME-Version: 1.0',
    ...fields,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1')
}
