import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { emailConfigSchema } from '../config.ts'
import { scanHeaders } from '../mail/header.ts'
import { parseFieldGroups, readDeliveryStatus } from './bounce.ts'

const { limits } = emailConfigSchema.parse({})

function readReportPart(part: string, boundary = 'b') {
  const type = `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`
  const octets = Buffer.from(`${type}\r\n\r\n--${boundary}\r\n${part}\r\n--${boundary}--\r\n`.replace(/\r?\n/g, '\r\n'))
  return readDeliveryStatus(octets, scanHeaders(octets, limits))
}

const status = 'Reporting-MTA: dns; mx.test\n\nFinal-Recipient: rfc822; a@b.test\nAction: failed\nStatus: 5.1.1\n'
const statusPartHeader = 'Content-Type: message/delivery-status\n'

test.each([
  ['without an encoding', `${statusPartHeader}\n${status}`, { action: 'failed', status: '5.1.1' }],
  [
    'in base64',
    `${statusPartHeader}Content-Transfer-Encoding: base64\n\n${Buffer.from(status).toString('base64')}`,
    { action: 'failed', status: '5.1.1' },
  ],
  [
    'with its type on a continuation line',
    `Content-Type:\n message/delivery-status\n\n${status}`,
    { action: 'failed', status: '5.1.1' },
  ],
  ['of RFC 6533', `Content-Type: message/global-delivery-status\n\n${status}`, { action: 'failed', status: '5.1.1' }],
  [
    'in capitals and with comments',
    `${statusPartHeader}\nFINAL-RECIPIENT: rfc822; a@b.test\nACTION: Failed (expired)\nSTATUS: 4.4.7 (timeout)\n`,
    { action: 'failed', status: '4.4.7' },
  ],
  [
    'with details only in its diagnostic code',
    `${statusPartHeader}\n${status.replace('5.1.1', '5.0.0')}Diagnostic-Code: smtp; 550 5.1.10 no such user\n`,
    { action: 'failed', status: '5.1.10' },
  ],
  [
    'with a number only',
    `${statusPartHeader}\nFinal-Recipient: rfc822; a@b.test\nAction: failed\nDiagnostic-Code: smtp; 452 later\n`,
    { action: 'failed', status: '4.0.0' },
  ],
  [
    'with two outcomes, by the worse outcome',
    `${statusPartHeader}\n${status.replace('failed', 'delayed')}\n${status}`,
    { action: 'failed', status: '5.1.1' },
  ],
])('readDeliveryStatus() reads a report %s', (_description, part, expected) => {
  expect(readReportPart(part)).toEqual(expected)
})

test.each([
  ['about nobody', `${statusPartHeader}\nReporting-MTA: dns; mx.test\n`],
  ['without fields', `${statusPartHeader}\nYour mail was not delivered: 5.1.1\n`],
  ['that is text', `Content-Type: text/plain\n\n${status}`],
])('readDeliveryStatus() ignores a report %s', (_description, part) => {
  expect(readReportPart(part)).toBeUndefined()
})

test.each([
  ['blank lines', `${statusPartHeader}\n`, '\n'],
  ['boundaries', `${statusPartHeader}\n`, '\n--b'],
  ['fields', `${statusPartHeader}\n`, 'a:b\n'],
  ['folded lines', `${statusPartHeader}\na:`, '\n b'],
  ['white space', 'Content-Type:', ' '],
  ['text without a line end', `${statusPartHeader}\n`, 'x'],
])('parsing a megabyte of %s takes linear time', (_description, prefix, repeatedText) => {
  const run = (text: string) => expect(readReportPart(prefix + text)).toBeUndefined()
  expect(measureGrowth(run, repeatedText, 1_000_000)).toBeLessThan(24)
})

test('parseFieldGroups() keeps the first of two fields with one name, unfolded', () => {
  const [firstGroup, secondGroup, ...otherGroups] = parseFieldGroups(
    'A: 1\r\n 2\r\nA: 3\r\n\r\n\r\nB:4\r\nno field\r\n: none',
  )
  expect([[...(firstGroup ?? [])], [...(secondGroup ?? [])], otherGroups]).toEqual([[['a', '1 2']], [['b', '4']], []])
})
