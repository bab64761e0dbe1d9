import { expect, test } from 'vitest'
import { isForwardSubject, replySubject } from './subjects.ts'

test.each([
  'Fwd: offer',
  'FW: offer',
  'WG: Angebot',
  'VB: erbjudande',
  'VS: tilbud',
  'VL: tarjous',
  'PD: oferta',
  'TR: offre',
  'RV: oferta',
  'ENC: oferta',
  'Пересл: цена',
  '转发: 报价',
  '转发：报价',
  '轉寄: 報價',
  '転送: 見積',
  '전달: 견적',
  'Fwd[2]: offer',
  '[team] Fwd: offer',
  '=?UTF-8?B?6L2s5Y+ROiDmiqXku7c=?=',
  '=?utf-8?q?Fwd=3A?= offer',
])('isForwardSubject() accepts %j', subject => {
  expect(isForwardSubject(subject)).toBe(true)
})

test.each(['Re: Fwd: offer', 'offer', 'Trip: Rome', 'I think: no', 'PDF: new', ''])(
  'isForwardSubject() rejects %j',
  subject => {
    expect(isForwardSubject(subject)).toBe(false)
  },
)

test('replySubject() writes one reply prefix in place of all earlier ones', () => {
  expect(replySubject('回复：Re[2]: AW: 报价')).toBe('Re: 报价')
  expect(replySubject('')).toBe('Re: (no subject)')
})
