/** How mail programs of many languages say "wrote" above a quotation, or below its date. */
const wrote = [
  'wrote',
  'writes',
  'schrieb',
  'a écrit',
  'escribió',
  'ha scritto',
  'scrive',
  'schreef',
  'escreveu',
  'skrev',
  'napisała?\\(a\\)',
  'napisała?',
  'napisal\\(a\\)',
  'napsal\\(a\\)',
  'napsala?',
  'napisala?',
  'píše',
  'написал\\(а\\)',
  'написала?',
  'написав',
  'пишет',
  'пише',
  'kirjoitti',
  'yazdı',
  'כתב(?:ה)?',
  'كتب(?:ت)?',
].join('|')
/** The same without a space before it. */
const wroteUnspaced = [
  '写道',
  '寫道',
  'のメッセージ',
  'のメール',
  '書きました',
  '님이 작성',
  '님이 쓴 글',
  '작성',
].join('|')
const anyWrote = `(?:(?:^|\\s)(?:${wrote})|${wroteUnspaced})`

/** An introduction ends so: `wrote:`, `wrote ----`. */
export const endsInWrote = new RegExp(`${anyWrote}\\s?(?:[:：]|-{2,})$`, 'iu')
/** One that names the date or the mailbox last: `schrieb am Fr., 28. Apr. 2017 um 11:53 Uhr:`. */
export const namesWriter = new RegExp(`${anyWrote}\\s`, 'iu')
/** No program writes so of its owner. */
export const namesOneself =
  /(?:^|\s)(?:I|ich|je|yo|io|ik|eu|jag|jeg|ja|я|já)\s+(?:\S{1,12}\s)?\S{3,12}\s?[:：]$|(?:^|\s)j'ai\s/iu

/** The first word of an introduction that begins with its date. */
export const opensIntroduction =
  /^(?:-{2,} )?(?:on|at|am|le|el|il|op|em|den|dnia|dne|på|w dniu|ve|v|a|tarihinde|в|пн|вт|ср|чт|пт|сб|вс|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье|po|út|st|čt|pá|so|ne|في|ב|在)(?![\p{L}\p{N}])|^在\s?\d/iu

/** `2016-03-03 17:21 GMT+01:00 Some One`, `2013/7/20 Some One <a@b.example>`, `2026年5月3日`, `2026. 5. 3.`, `3. května 2026`. */
export const opensWithDate =
  /^\p{Nd}{1,4}(?:[-./ ]\s?(?:\p{Nd}{1,2}[-./]\s?\p{Nd}{1,4}\.?|\p{L}{3,12}\.?)(?=[\s,، 、])|年\s?\p{Nd}{1,2}月|년\s?\p{Nd}{1,2}월)/u
/** A time of day, and a mailbox, as only programs write them into one line. */
export const namesTime = /\p{Nd}{1,2}[:：時시點点h.]\s?\p{Nd}{2}(?!\p{Nd})/u
export const namesMailbox = /<(?:mailto:)?[^<>\s]+@[^<>\s]+>|\[mailto:|\(mailto:/i

const forwarded = [
  'forwarded (?:message|mail|email)',
  'weitergeleitete (?:nachricht|e-?mail)',
  'message (?:transféré|réexpédié)',
  'mensaje (?:reenviado|original reenviado)',
  'mensagem (?:encaminhada|reencaminhada)',
  'messaggio inoltrato',
  'doorgestuurd bericht',
  'vidarebefordrat (?:meddelande|brev)',
  'videresendt (?:meddelelse|melding|besked)',
  'edelleenlähetetty viesti',
  'välitetty viesti',
  'przekazana wiadomość',
  'wiadomość przekazana dalej',
  'přeposlaná zpráva',
  'továbbított üzenet',
  'iletilmiş (?:mesaj|ileti)',
  'iletilen (?:mesaj|ileti)',
  'пересылаемое сообщение',
  'пересланное сообщение',
  'переадресоване повідомлення',
  'προωθημένο μήνυμα',
  'הודעה שהועברה',
  'رسالة (?:معاد توجيهها|تمت إعادة توجيهها|مُعاد توجيهها)',
  '转发(?:的)?(?:邮件|信息|消息|邮件信息)',
  '轉寄(?:的)?(?:郵件|訊息|信件)',
  '轉寄郵件',
  '転送(?:された)?(?:メッセージ|メール)',
  '転送済みメッセージ',
  '전달된 (?:메시지|메일)',
  '전달(?:된)? ?메일',
].join('|')

/** The words of Apple's programs there. */
const begun = [
  'begin forwarded message',
  'anfang der weitergeleiteten (?:nachricht|e-?mail)',
  'début du message (?:transféré|réexpédié)',
  'inicio del mensaje reenviado',
  'início da mensagem (?:encaminhada|reencaminhada)',
  'inizio messaggio inoltrato',
  'begin doorgestuurd bericht',
  'vidarebefordrat brev',
  'videresendt (?:besked|melding)',
  'začátek přeposílané zprávy',
  'początek przekazywanej wiadomości',
  'начало переадресованного сообщения',
  '(?:以下是|下面是被)转发的邮件',
  '以下是轉寄的郵件',
  '転送されたメッセージ',
  '전달된 메시지',
  'بداية الرسالة المُ?عاد توجيهها',
].join('|')

/** Above forwarded text; the text below is the topic of the mail. */
const opensForward = new RegExp(`^\\*?(?:[-=_]{2,30} ?(?:${forwarded}) ?[-=_]{2,30}|(?:${begun})\\s?[:：])\\*?$`, 'iu')

/** Lines between a text and the message it answers. */
export const separatesMessages =
  /^\*?-{2,30} ?(?:original message|ursprüngliche nachricht|original-nachricht|originalnachricht|message d'origine|message original|mensaje original|mensagem original|messaggio originale|oorspronkelijk bericht|ursprungligt meddelande|oprindelig meddelelse|alkuperäinen viesti|wiadomość oryginalna|původní (?:zpráva|e-?mail)|eredeti üzenet|исходное сообщение|původní|原始邮件|原始郵件|原邮件|元のメッセージ|원본 ?(?:메시지|메일)|الرسالة الأصلية|رسالة أصلية) ?-{2,30}\*?$/iu

/** The first field of a block of header lines, what may follow it, and what is never missing from one. */
export const opensHeaderBlock =
  /^\*?(?:from|von|de|da|van|från|fra|od|от|від|kimden|lähettäjä|差出人|送信者|发件人|寄件者|寄件人|보낸 ?사람|من)\s?\*?\s?[:：]/iu
export const continuesHeaderBlock =
  /^\*?(?:sent|date|to|cc|subject|reply-to|gesendet|datum|an|betreff|antwort an|envoyé|à|objet|enviado|fecha|para|asunto|assunto|inviato|data|a|oggetto|risposta|verzonden|aan|onderwerp|skickat|till|ämne|sendt|til|emne|dato|wysłano|do|temat|odesláno|komu|předmět|kopie|отправлено|дата|кому|копия|тема|送信日時|日付|宛先|件名|发送时间|发送日期|收件人|抄送|主题|日期|傳送日期|寄件日期|收件者|主旨|보낸 ?날짜|날짜|받는 ?사람|참조|제목|تاريخ الإرسال|التاريخ|تم الإرسال|إلى|نسخة|الموضوع)\s?\*?\s?[:：]/iu
export const namesSubject =
  /^\*?(?:subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|předmět|тема|件名|主题|主旨|제목|الموضوع)\s?\*?\s?[:：]/iu
export const namesSending =
  /^\*?(?:sent|date|gesendet|datum|envoyé|date|enviado|fecha|inviato|data|verzonden|skickat|sendt|dato|wysłano|odesláno|отправлено|дата|送信日時|日付|发送时间|发送日期|日期|傳送日期|寄件日期|보낸 ?날짜|날짜|تاريخ الإرسال|التاريخ|تم الإرسال)\s?\*?\s?[:：]/iu

/** The signatures that programs add in their owner's name, line by line. */
export const namesDevice =
  /^[\s(<[*]*(?:sent (?:from|via|with|by)\b|from my (?:i?phone|ipad|android|mobile|blackberry|samsung|htc|windows)\b|get \[?outlook for\b|envoyé (?:depuis|de|à partir de)\b|enviado (?:desde|do|de)\b|inviato da\b|sendt fra\b|skickat från\b|verzonden (?:met|vanaf|via)\b|verstuurd vanaf\b|gesendet (?:von|mit)\b|von mein\p{L}+ \p{L}+ gesendet|diese nachricht wurde von\b|wysłane z\b|отправлено (?:с|из)\b|lähetetty\b|odesláno z\b|從我的|从我的|iPhoneから送信|나의 iPhone에서 보냄|أُ?رسلت من|\S+ from mobile$)/iu

/** A line of nothing but marks, and the odd tracking character of a mail tracker. */
export const isDelimiterLine = /^[\s\-_=+~#*—–\u1427\u200b]+$/u
/** RFC 3676 §4.3, and what editors make of it. */
export const opensSignature = /^(?:--|—|––)\s*$/
/** As the standard has it, with its space. */
export const isTrueSignature = /^-- $/

const maxSeparator = 200

/** Is there a line, not quoted, below which something was forwarded? */
export function holdsForward(text: string): boolean {
  return text.split('\n').some(isForwardLine)
}

export function isForwardLine(line: string): boolean {
  return line.length < maxSeparator && opensForward.test(line.trim())
}
