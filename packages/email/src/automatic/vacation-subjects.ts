// Recognizes the subjects that mail programs give to vacation notices in many languages.
import { decodeHeaderText } from '../mail/header-text.ts'

/**
 * The beginnings of subjects in lower case, as Outlook, Exchange, GroupWise, Notes, Gmail, Zimbra, cPanel and Sieve
 * scripts write them.
 */
const phrases: Readonly<Record<string, readonly string[]>> = {
  ar: ['رد تلقائي', 'الرد التلقائي', 'خارج المكتب'],
  bg: ['автоматичен отговор', 'извън офиса'],
  ca: ['resposta automàtica', "fora de l'oficina"],
  cs: ['automatická odpověď', 'mimo kancelář'],
  da: ['automatisk svar', 'autosvar', 'fraværsbesked', 'fraværsmeddelelse', 'ikke til stede'],
  de: [
    ...['automatische antwort', 'automatische rückantwort', 'automatische abwesenheitsnotiz', 'autoantwort'],
    ...['abwesenheitsnotiz', 'abwesenheitsnachricht', 'abwesenheitsmeldung', 'abwesenheitsagent'],
    ...['abwesenheitsassistent', 'abwesenheitsbenachrichtigung', 'nicht im büro', 'nicht im haus'],
  ],
  el: ['αυτόματη απάντηση', 'εκτός γραφείου'],
  en: [
    ...['automatic reply', 'automatic response', 'automated reply', 'automated response', 'auto reply', 'auto-reply'],
    ...['autoreply', 'auto response', 'auto-response', 'autoresponse', 'autoresponder', 'auto responder'],
    ...['out of office', 'out of office autoreply', 'out of office auto-reply', 'out of office reply', 'out-of-office'],
    ...['out of the office', 'i am out of the office', "i'm out of the office", 'away from my mail', 'vacation reply'],
    ...['vacation response', 'away message', 'out of office notification', 'out of office message'],
  ],
  es: [
    ...['respuesta automática', 'respuesta automatica', 'contestación automática', 'autorespuesta'],
    ...['fuera de la oficina', 'fuera de oficina', 'ausente de la oficina', 'mensaje de ausencia'],
  ],
  et: ['automaatvastus', 'automaatne vastus', 'kontorist väljas'],
  fi: ['automaattinen vastaus', 'automaattivastaus', 'poissaoloilmoitus', 'poissa toimistosta', 'lomavastaus'],
  fr: [
    ...['réponse automatique', 'reponse automatique', 'absence du bureau', 'absent du bureau', 'absente du bureau'],
    ...["message d'absence", 'message d’absence', "notification d'absence", 'absent(e) du bureau'],
  ],
  he: ['תשובה אוטומטית', 'מענה אוטומטי', 'מחוץ למשרד'],
  hr: ['automatski odgovor', 'izvan ureda'],
  hu: ['automatikus válasz', 'házon kívül', 'automatikus valasz'],
  id: ['balasan otomatis', 'di luar kantor'],
  it: [
    ...['risposta automatica', 'risponditore automatico', 'fuori ufficio', 'fuori sede', 'assente dall’ufficio'],
    ...["assente dall'ufficio", 'messaggio di assenza', 'assenza dall’ufficio', "assenza dall'ufficio"],
  ],
  ja: ['自動応答', '自動返信', '不在通知', '不在のお知らせ', '不在時の自動応答', '【自動返信】', '【自動応答】'],
  ko: ['자동 회신', '자동회신', '자동 응답', '자동응답', '부재중', '부재 중', '부재중 자동 회신'],
  lt: ['automatinis atsakymas', 'nesu biure'],
  lv: ['automātiska atbilde', 'automātiskā atbilde', 'ārpus biroja'],
  nb: ['automatisk svar', 'autosvar', 'fraværsmelding', 'fraværsassistent', 'ikke på kontoret'],
  nl: [
    ...['automatisch antwoord', 'automatische reactie', 'automatische beantwoording', 'afwezigheidsbericht'],
    ...['afwezigheidsassistent', 'afwezigheidsmelding', 'niet aanwezig', 'buiten kantoor', 'niet op kantoor'],
  ],
  pl: ['odpowiedź automatyczna', 'automatyczna odpowiedź', 'autoodpowiedź', 'autoresponder', 'poza biurem'],
  pt: [
    ...['resposta automática', 'resposta automatica', 'fora do escritório', 'fora do escritorio'],
    ...['ausência temporária', 'ausente do escritório', 'mensagem de ausência', 'notificação de ausência'],
  ],
  ro: ['răspuns automat', 'raspuns automat', 'în afara biroului'],
  ru: ['автоматический ответ', 'автоответ', 'автоответчик', 'вне офиса'],
  sk: ['automatická odpoveď', 'mimo kancelárie'],
  sl: ['samodejni odgovor', 'samodejni odziv'],
  sr: ['аутоматски одговор', 'automatski odgovor', 'van kancelarije'],
  sv: ['automatiskt svar', 'autosvar', 'frånvaromeddelande', 'frånvarobesked', 'inte på kontoret'],
  th: ['ตอบกลับอัตโนมัติ', 'การตอบกลับอัตโนมัติ', 'ไม่อยู่ที่สำนักงาน'],
  tr: ['otomatik yanıt', 'otomatik cevap', 'ofis dışında', 'ofis dışı'],
  uk: ['автоматична відповідь', 'автовідповідь', 'поза офісом'],
  vi: ['trả lời tự động', 'thư trả lời tự động', 'vắng mặt tại văn phòng'],
  zh: [
    ...['自动答复', '自动回复', '自動答覆', '自動回覆', '自動回復', '外出自动回复', '外出时的自动回复'],
    ...['不在办公室', '不在辦公室', '外出通知', '【自动回复】', '【自動回覆】'],
  ],
}

/** The phrases by their first character, so that a subject is compared with few of them. */
const phrasesByInitial = Map.groupBy(new Set(Object.values(phrases).flat().map(foldCase)), phrase => phrase.charAt(0))

/** Matches tags such as `[EXT]` that gateways put before a subject. */
const tagPrefix = /^(?:\s*\[[^\]]{0,40}\])+\s*/
/** Matches the text after a phrase: nothing, or the subject of the answered mail. */
const phraseEndPattern = /^\s*(?:$|[:：;([【<>«"„“|]|[-–—]+(?:\s|$)|!*\s*$|\.*\s*$|(?:re|aw|sv|antw|rv|odp)\s*:)/i

/** The longest subject of a notice. Nobody adds more than a name, dates and a deputy. */
const maxNoticeChars = 1_000

/**
 * Returns true if a mail looks like a vacation notice by its subject alone. `subject` is the raw field with its encoded
 * words (RFC 2047).
 */
export function isVacationNotice(subject: string | undefined, text: string): boolean {
  if (!subject || text.length > maxNoticeChars) return false
  const foldedSubject = foldCase(decodeHeaderText(subject.slice(0, 2_000)).replace(tagPrefix, ''))
  const candidates = phrasesByInitial.get(foldedSubject.charAt(0)) ?? []
  return candidates.some(
    phrase => foldedSubject.startsWith(phrase) && phraseEndPattern.test(foldedSubject.slice(phrase.length)),
  )
}

/** Folds case. The lower case of the Turkish capital İ has a combining dot, which is removed. */
function foldCase(text: string): string {
  return text.normalize('NFC').trim().toLowerCase().replaceAll('i̇', 'i')
}
