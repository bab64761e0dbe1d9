import { expect, test } from 'vitest'
import { isForwardLine, isSeparator } from './separator.ts'

test.each([
  '-----Original Message-----',
  '-------- Original-Nachricht --------',
  '-------- Alkuperäinen viesti / Orig.Msg. --------',
  '--- Treść oryginalnej wiadomości ---',
  '-------- الرسالة الأصليَّة --------',
  '--------    원본 메시지    --------',
  '------------------ 原始邮件 ------------------',
  '------------------ Original ------------------',
  '------------------&nbsp;Original&nbsp;------------------',
  '---- 回复的原邮件 ----',
  '---- Replied Message ----',
  '>>> Desk <d@x.test> 11/20/2026 9:00 AM >>>',
  '>>> "Desk Smith" 20.11.2026 09:00 >>>',
])('isSeparator() recognizes %s', line => {
  expect(isSeparator(line)).toBe(true)
})

test.each(['-- Original --', '-----', 'Original Message', '>>> print(1)', '>>> a >>>', '--- Notes ---'])(
  'isSeparator() rejects %s',
  line => {
    expect(isSeparator(line)).toBe(false)
  },
)

test.each([
  '---------- Forwarded message ---------',
  '-------- Továbbított üzenet --------',
  'Begin forwarded message:',
])('isForwardLine() recognizes %s', line => {
  expect(isForwardLine(line)).toBe(true)
  expect(isForwardLine(`> ${line}`)).toBe(false)
})
