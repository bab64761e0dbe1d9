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
  'napisał\\(a\\)',
  'napisał',
  'napisal',
  'написала?',
  'написав',
  'пишет',
  'пише',
  'kirjoitti',
  'yazdı',
  '写道',
  'のメッセージ',
].join('|')

/** An introduction ends so: `wrote:`, `wrote ----`. */
export const endsInWrote = new RegExp(`(?:^|\\s)(?:${wrote})\\s?(?::|-{2,})$`, 'iu')
/** One that names the date or the mailbox last: `schrieb am Fr., 28. Apr. 2017 um 11:53 Uhr:`. */
export const namesWriter = new RegExp(`(?:^|\\s)(?:${wrote})\\s`, 'iu')

/** The first word of an introduction that begins with its date. */
export const opensIntroduction =
  /^(?:-{2,} )?(?:on|am|le|el|il|op|em|den|dnia|på|w dniu|ve|v|a|tarihinde|пн|вт|ср|чт|пт|сб|вс|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье)(?![\p{L}\p{N}])/iu

/** `2016-03-03 17:21 GMT+01:00 Some One`, `2013/7/20 Some One <a@b.example>`: Gmail of some years. */
export const opensWithDate = /^\d{1,4}[-./ ]\s?(?:\d{1,2}[-./]\d{1,4}|\p{L}{3,12}\.?)(?=[\s,])/u

/** Lines between a text and the message it answers. */
export const separatesMessages =
  /^\*?-{2,12} ?(?:original message|forwarded message|ursprüngliche nachricht|original-nachricht|weitergeleitete nachricht|message d'origine|message transféré|mensaje original|mensagem original|messaggio originale|oorspronkelijk bericht|ursprungligt meddelande|исходное сообщение|пересылаемое сообщение) ?-{2,12}\*?$/iu

/** The first field of a block of header lines, and what may follow it. */
export const opensHeaderBlock = /^\*?(?:from|von|de|da|van|från|fra|od|от|від|kimden|差出人|发件人)\s?\*?\s?[:：]/iu
export const continuesHeaderBlock =
  /^\*?(?:sent|date|to|cc|subject|reply-to|gesendet|datum|an|betreff|antwort an|envoyé|à|objet|enviado|fecha|para|asunto|assunto|inviato|data|a|oggetto|risposta|verzonden|aan|onderwerp|skickat|till|ämne|sendt|til|emne|dato|wysłano|do|temat|отправлено|дата|кому|тема|送信日時|宛先|件名|发送时间|收件人|主题)\s?\*?\s?[:：]/iu

/** What a program signs in its owner's name, line by line. */
export const namesDevice =
  /^[\s(<[*]*(?:sent (?:from|via|with|by)\b|from my (?:i?phone|ipad|android|mobile|blackberry|samsung|htc|windows)\b|get \[?outlook for\b|envoyé (?:depuis|de|à partir de)\b|enviado (?:desde|do|de)\b|inviato da\b|sendt fra\b|skickat från\b|verzonden (?:met|vanaf|via)\b|verstuurd vanaf\b|gesendet (?:von|mit)\b|von mein\p{L}+ \p{L}+ gesendet|diese nachricht wurde von\b|wysłane z\b|отправлено (?:с|из)\b|lähetetty\b|從我的|从我的|\S+ from mobile$)/iu

/** A line of nothing but marks, and the odd tracking character of a mail tracker. */
export const isDelimiterLine = /^[\s\-_=+~#*—–\u1427\u200b]+$/u
/** RFC 3676 §4.3, and what editors make of it. */
export const opensSignature = /^(?:--|—|––)\s*$/
