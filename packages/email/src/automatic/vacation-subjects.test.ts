import { expect, test } from 'vitest'
import { isVacationNotice } from './vacation-subjects.ts'

test.each([
  ['Automatic reply: Question'],
  ['[EXT] Out of Office: Question'],
  ['Out of Office Re: Question'],
  ['Out of the office'],
  ['AUTO-REPLY - Question'],
  ['Automatische Antwort: Frage'],
  ['Abwesenheitsnotiz'],
  ['=?utf-8?B?UsOpcG9uc2UgYXV0b21hdGlxdWUgOiBRdWVzdGlvbg==?='],
  ['Réponse automatique\u00a0: Question'],
  ['Risposta automatica: Domanda'],
  ['Respuesta automática: Pregunta'],
  ['Resposta automática: Pergunta'],
  ['Automatisch antwoord: Vraag'],
  ['Odpowiedź automatyczna: Pytanie'],
  ['Autosvar: Fråga'],
  ['Automatisk svar: Spørsmål'],
  ['Automaattinen vastaus: Kysymys'],
  ['Automatická odpověď: Dotaz'],
  ['Automatikus válasz: Kérdés'],
  ['Otomatik Yanıt: Soru'],
  ['Автоматический ответ: Вопрос'],
  ['Автоматична відповідь: Питання'],
  ['Αυτόματη απάντηση: Ερώτηση'],
  ['自動応答: 質問'],
  ['自动答复: 问题'],
  ['자동 회신: 질문'],
  ['תשובה אוטומטית: שאלה'],
])('a short mail with the subject "%s" counts as a vacation notice', subject => {
  expect(isVacationNotice(subject, 'I am away until Monday.')).toBe(true)
})

test.each([
  ['Re: Automatic reply: Question'],
  ['Automatic reply does not work'],
  ['Automatische Antworten einrichten'],
  ['Out of office next week?'],
  ['Auto: Winterreifen'],
  ['Question about my absence'],
  ['Fuori sede domani?'],
  ['自动答复功能坏了'],
  [''],
])('the subject "%s" counts as a subject that a person wrote', subject => {
  expect(isVacationNotice(subject, 'Can you help me?')).toBe(false)
})

test('a long mail counts as a mail that a person wrote, with any subject', () => {
  const text = 'We would like to set this up for all of our offices, and have some questions. '.repeat(20)
  expect(isVacationNotice('Automatic reply: how do we set it up?', text)).toBe(false)
})
