import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { decodeWords } from './encoded-word.ts'

test.each([
  ['base64', '=?utf-8?B?RsM=?= =?utf-8?B?pGhyZSBuYWNoIFLDvGdlbg==?=', 'Fähre nach Rügen'],
  ['quoted-printable', '=?UTF-8?Q?F=C3?=  =?utf-8?q?=A4hre?=', 'Fähre'],
  ['two encodings', '=?utf-8?b?RsM=?=\t=?utf-8?q?=A4hre?=', 'Fähre'],
  ['two octets a character', '=?gb2312?B?xOM=?= =?gb2312?B?usM=?= =?gb2312?B?ug==?= =?gb2312?B?ww==?=', '你好好'],
  ['four octets in three words', '=?utf-8?b?8J8=?= =?utf-8?b?mA==?= =?utf-8?b?gA==?=', '😀'],
  ['words with languages', '=?utf-8*de?b?RsM=?= =?utf-8*en?b?pA==?=', 'Fä'],
  ['words that touch', '=?utf-8?b?RsM=?==?utf-8?b?pA==?=', 'Fä'],
  ['a charset that shifts', '=?iso-2022-jp?B?GyRCRnwbKEI=?= =?iso-2022-jp?B?GyRCS1wbKEI=?=', '日本'],
])('decodeWords() joins %s before it decodes them', (_what, value, text) => {
  expect(decodeWords(value)).toBe(text)
})

test.each([
  ['words of two charsets apart', '=?utf-8?b?w7w=?= =?iso-8859-1?q?=FC?=', 'üü'],
  ['half a character that no word completes', '=?utf-8?b?w7w=?= =?utf-8?b?RsM=?=', 'üF\ufffd'],
  ['the space around plain text', 'Re: =?utf-8?q?a?= b =?utf-8?q?c?= d', 'Re: a b c d'],
  ['words of an unknown charset', '=?x-none?q?a?= =?x-none?q?b?=', '=?x-none?q?a?= =?x-none?q?b?='],
  ['text that only resembles a word', 'a =? b ?= =?utf-8?x?c?=', 'a =? b ?= =?utf-8?x?c?='],
  ['no words', 'a  b', 'a  b'],
])('decodeWords() keeps %s', (_what, value, text) => {
  expect(decodeWords(value)).toBe(text)
})

test.each(['=?utf-8?b?w7w=?= ', '=?utf-8?q?a?=', '=?', ' =?a?b?', '?= '])(
  'decodeWords() takes linear time for many %j',
  piece => {
    expect(measureGrowth(decodeWords, piece, 64_000)).toBeLessThan(24)
  },
)
