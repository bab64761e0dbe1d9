// Lists the phrases that mail programs add to replies and forwarded mail, by language.

export type PhraseKind =
  | 'wrote'
  | 'from'
  | 'sent'
  | 'to'
  | 'copy'
  | 'subject'
  | 'original'
  | 'forwarded'
  | 'begun'
  | 'device'

/**
 * The phrases of Thunderbird, Outlook, Apple Mail, Gmail and Roundcube for each language (BCP 47). `|` separates phrases, and `;` separates
 * these kinds:
 *
 * - `wrote`: the verb in the line above a quotation
 * - `from`, `sent`, `to`, `subject`: labels of the header block above a quotation
 * - `copy`: the labels of copies and of the other fields in that block, such as the address for replies
 * - `original`, `forwarded`: between dashes above an answered message, and above one that is passed on
 * - `begun`: above a message that Apple's programs pass on
 * - `device`: a line that a device or program adds in the name of its owner; `#` stands for the device or program
 */
const phrasesByLanguage = `
[af]
wrote: het geskryf | skryf; original: oorspronklike boodskap
[ar]
wrote: كتب | كتبت | تمت كتابة ما يلي بواسطة; from: من; sent: تاريخ الإرسال | التاريخ | تم الإرسال | أرسلت | تاريخ
to: إلى; copy: نسخة | نسخة إلى; subject: الموضوع | موضوع
original: الرسالة الأصلية | الرسالة الأصليَّة | رسالة أصلية | الرسالة الأساسية
forwarded: رسالة معاد توجيهها | رسالة تمت إعادة توجيهها | رسالة مُعاد توجيهها
begun: بداية الرسالة المعاد توجيهها | بداية الرسالة المُعاد توجيهها
device: أرسلت من # | أُرسلت من # | تم الإرسال من # | الحصول على # | احصل على #
[ast]
wrote: escribió | escribió'l; original: mensaxe orixinal
[az]
wrote: yazıb; original: orijinal məktub
[be]
wrote: напісаў | напісала | піша; original: зыходнае паведамленне | арыгінальнае паведамленне
[bg]
wrote: написа | пише; from: от; sent: изпратено | дата; to: до; copy: копие; subject: относно | тема
original: оригинално писмо | оригинално съобщение; forwarded: препратено съобщение | препратено писмо
device: изпратено от # | изпратено от моя # | изпратено от моят # | изтеглете #
[br]
wrote: eo bet skrivet gant | skrivet eo bet gant; original: kemennadenn orinel | kemennadenn orin
[ca]
wrote: ha escrit | va escriure; from: de; sent: enviat | enviat el | data; to: a | per a; copy: a/c
subject: assumpte | tema; original: missatge original; forwarded: missatge reenviat
begun: inici del missatge reenviat
device: enviat des de # | enviat des del meu # | obtén # | obteniu #
[cak]
wrote: xutz'ib'aj; original: qitzij rutzijol
[cs]
wrote: napsal(a) | napsal | napsala | píše | napsal/a; from: od; sent: odesláno | datum; to: komu; copy: kopie
subject: předmět; original: původní zpráva | původní e-mail | původní
forwarded: přeposlaná zpráva | přeposlaný e-mail; begun: začátek přeposílané zprávy
device: odesláno z # | odesláno z mého # | odesláno ze # | odesláno pomocí # | získat # | získejte # | stáhnout #
[cy]
wrote: ysgrifennodd; original: neges wreiddiol
[da]
wrote: skrev; from: fra; sent: sendt | dato; to: til; copy: kopi; subject: emne
original: oprindelig meddelelse | original besked | oprindelig besked
forwarded: videresendt meddelelse | videresendt besked; begun: videresendt besked | start på videresendt besked
device: sendt fra # | sendt fra min # | sendt med # | sendt via # | hent # | få #
[de]
wrote: schrieb | schreibt | hat geschrieben | schrieben; from: von; sent: gesendet | gesendet am | datum; to: an
copy: kopie | antwort an; subject: betreff
original: ursprüngliche nachricht | original-nachricht | originalnachricht | original nachricht | ursprüngliche e-mail
forwarded: weitergeleitete nachricht | weitergeleitete e-mail | weitergeleitete email
begun: anfang der weitergeleiteten nachricht | anfang der weitergeleiteten e-mail
device: von meinem # gesendet | von meiner # gesendet | von # gesendet | von mein # gesendet | gesendet von #
| gesendet von meinem # | gesendet von meiner # | gesendet mit # | gesendet mit der # | gesendet mit dem #
| gesendet aus # | gesendet über # | diese nachricht wurde von # gesendet
| diese nachricht wurde von meinem # gesendet | diese nachricht wurde mit # gesendet
| diese e-mail wurde von # gesendet | holen sie sich # | hol dir # | # herunterladen | # beziehen
[dsb]
wrote: napisał | napisała; original: originalna powěsć
[el]
wrote: έγραψε | έγραψαν; from: από; sent: στάλθηκε | εστάλη | ημερομηνία | αποστολή | ημ/νία; to: προς
copy: κοιν. | κοιν | κοινοποίηση; subject: θέμα; original: αρχικό μήνυμα
forwarded: προωθημένο μήνυμα | προωθούμενο μήνυμα; begun: έναρξη προωθημένου μηνύματος
device: στάλθηκε από # μου | στάλθηκε από # | εστάλη από # μου | εστάλη από # | λήψη # | αποκτήστε #
[en]
wrote: wrote | writes; from: from; sent: sent | date; to: to
copy: cc | bcc | reply-to | organization | importance | attachments; subject: subject
original: original message | original | reply message | replied message | original email | original mail
forwarded: forwarded message | forwarded mail | forwarded email | original message forwarded
begun: begin forwarded message
device: sent from my # | sent from # | sent from a # | sent from the # | sent via # | sent via my # | sent via the #
| sent with # | sent with the # | sent using # | sent using the # | sent on # | from my # | get #
[eo]
wrote: skribis; original: originala mesaĝo
[es]
wrote: escribió | escribió lo siguiente | escribía; from: de; sent: enviado | enviado el | fecha; to: para | a
copy: copia; subject: asunto; original: mensaje original; forwarded: mensaje reenviado | mensaje original reenviado
begun: inicio del mensaje reenviado | comienzo del mensaje reenviado
device: enviado desde # | enviado desde mi # | enviado desde la # | enviado con # | enviado mediante # | obtener #
| obtén # | descargar #
[et]
wrote: kirjutas; from: saatja; sent: saadetud | kuupäev | saatmisaeg; to: adressaat | saaja | kellele; copy: koopia
subject: teema; original: algne kiri | esialgne kiri; forwarded: edastatud kiri | edastatud sõnum
device: saadetud minu # | saadetud # | hankige #
[eu]
wrote: idatzi zuen | idatzi du; original: jatorrizko mezua
[fa]
wrote: نوشت | نوشته است; from: از; sent: تاریخ | ارسال شده; to: به; copy: رونوشت; subject: موضوع
original: پیام اصلی
device: ارسال از # | ارسال شده از # | فرستاده شده از #
[fi]
wrote: kirjoitti; from: lähettäjä; sent: lähetetty | päivämäärä | päiväys | pvm; to: vastaanottaja | vastaanottajat
copy: kopio; subject: aihe; original: alkuperäinen viesti | alkuperäinen viesti / orig.msg.
forwarded: edelleenlähetetty viesti | välitetty viesti; begun: välitetty viesti alkaa
device: lähetetty # | lähetetty laitteesta # | hanki # | hae # | lataa #
[fo]
wrote: skrivaði
[fr]
wrote: a écrit | écrit | nous a dit; from: de | expéditeur; sent: envoyé | envoyé le | date
to: à | a | destinataire | pour; copy: copie | répondre à; subject: objet | sujet
original: message d'origine | message d’origine | message original | courriel original
forwarded: message transféré | message réexpédié | courriel transféré
begun: début du message transféré | début du message réexpédié
device: envoyé de # | envoyé de mon # | envoyé de ma # | envoyé depuis # | envoyé depuis mon # | envoyé depuis ma #
| envoyé depuis l'# | envoyé depuis l’# | envoyé à partir de # | envoyé à partir de mon # | envoyé avec #
| envoyé avec la # | envoyé via # | envoyé par # | télécharger # | téléchargez # | obtenez # | obtenir #
[fy]
wrote: skreau; original: oarspronklik berjocht
[ga]
wrote: scríobh; original: teachtaireacht bhunaidh | an teachtaireacht bhunaidh
[gd]
wrote: sgrìobh; original: an teachdaireachd thùsail
[gl]
wrote: escribiu; original: mensaxe orixinal
device: enviado desde # | enviado desde o meu #
[he]
wrote: כתב | כתבה | כתב/ה | נכתב על ידי; from: מאת; sent: נשלח | תאריך | נשלח בתאריך; to: אל; copy: עותק | העתק
subject: נושא | הנדון; original: הודעה מקורית | ההודעה המקורית; forwarded: הודעה שהועברה | הודעה מועברת
begun: תחילת ההודעה שהועברה
device: נשלח מ# | נשלח מה-# | נשלח מה# | נשלח מה-# שלי | נשלח מ-# | נשלח באמצעות # | קבל את # | השג את # | הורד את #
[hi]
wrote: ने लिखा | लिखा; from: प्रेषक | से; sent: भेजा गया | दिनांक | भेजने का समय; to: प्रति | प्राप्तकर्ता
subject: विषय; original: मूल संदेश; forwarded: अग्रेषित संदेश
device: मेरे # से भेजा गया | # से भेजा गया
[hr]
wrote: je napisao(la) | je napisao/la | je napisao | je napisala | napisao je | napisala je | piše; from: od | šalje
sent: poslano | datum; to: za | prima; copy: kopija; subject: predmet | naslov
original: izvorna poruka | originalna poruka; forwarded: proslijeđena poruka
device: poslano s # | poslano s mog # | poslano s mojeg # | poslano sa # | poslano iz # | nabavite # | preuzmite #
[hsb]
wrote: napisa; original: originalna powěsć
[hu]
wrote: írta | ezt írta; from: feladó; sent: elküldve | küldve | dátum; to: címzett; copy: másolatot kap | másolat
subject: tárgy; original: eredeti üzenet; forwarded: továbbított üzenet | továbbított levél
begun: továbbított levél kezdete
device: # küldve | elküldve a következőből: # | küldve # | az # beszerzése | # letöltése
[hy]
wrote: գրել է | գրեց; original: բնօրինակ նամակը | բնաւրինակ հաղորդագրութիւն | առաջին հաղորդագրությունը
[ia]
wrote: ha scribite; original: message original
[id]
wrote: menulis; from: dari; sent: dikirim | terkirim | tanggal; to: kepada | untuk; copy: tembusan
subject: subjek | perihal; original: pesan asli; forwarded: pesan terusan | pesan yang diteruskan
device: dikirim dari # | dikirim dari # saya | dapatkan # | unduh #
[is]
wrote: skrifaði; from: frá; sent: sent; to: til; subject: efni; original: upprunalegur póstur | upprunaleg skilaboð
[it]
wrote: ha scritto | scrive | scrisse; from: da; sent: inviato | data; to: a; copy: risposta | rispondi a
subject: oggetto; original: messaggio originale; forwarded: messaggio inoltrato; begun: inizio messaggio inoltrato
device: inviato da # | inviato dal mio # | inviato da mio # | inviato con # | inviato tramite # | inviato dalla #
| ottieni # | scarica #
[ja]
wrote: のメッセージ | のメール | 書きました; from: 差出人 | 送信者 | 送信元; sent: 送信日時 | 日付 | 日時 | 送信日; to: 宛先; copy: 写し; subject: 件名
original: 元のメッセージ | 元のメール; forwarded: 転送メッセージ | 転送メール | 転送されたメッセージ | 転送済みメッセージ; begun: 転送されたメッセージ
device: #から送信 | # から送信 | 私の#から送信 | #を入手 | # を入手 | #で送信 | #から送信されました
[ka]
wrote: წერს | დაწერა; original: საწყისი წერილი | ორიგინალი შეტყობინება
[kab]
wrote: yura; original: izen anezli
[kk]
wrote: жазған; original: түпнұсқа хабарламасы
[km]
wrote: បានសរសេរ | បានសរសេរនៅលើ
[ko]
wrote: 님이 작성 | 님이 쓴 글 | 이(가) 쓴 글 | 쓴 글 | 작성 | 이(가) 쓴 내용 | 에 쓴 글; from: 보낸 사람 | 보낸사람 | 발신
sent: 보낸 날짜 | 날짜 | 보낸날짜 | 보낸 시간; to: 받는 사람 | 받는사람 | 수신; copy: 참조; subject: 제목
original: 원본 메시지 | 원본메시지 | 원본 메일 | 원본메일; forwarded: 전달된 메시지 | 전달된 메일 | 전달 메일; begun: 전달된 메시지
device: 나의 #에서 보냄 | 내 #에서 보냄 | #에서 보냄 | # 다운로드 | # 받기 | #에서 보낸 메일입니다
[ku]
wrote: nivîsî
[lb]
wrote: schreift | huet geschriwwen
[lt]
wrote: rašė | parašė; from: nuo | siuntėjas; sent: išsiųsta | data; to: kam | gavėjas; subject: tema
original: originalus laiškas
device: išsiųsta iš # | išsiųsta iš mano # | gaukite #
[lv]
wrote: rakstīja; from: no | sūtītājs; sent: nosūtīts | datums; to: kam | adresāts; subject: tēma | temats
original: sākotnējā vēstule
device: nosūtīts no # | nosūtīts no mana # | iegūt #
[mk]
wrote: напиша | напишал; original: оригинална порака
[mr]
wrote: लिहीले | लिहिले
[ms]
wrote: membalas | menulis; original: mesej asal
device: dihantar dari # saya | dihantar dari #
[nb]
wrote: skrev | skriver; from: fra; sent: sendt | dato; to: til; copy: kopi; subject: emne
original: opprinnelig melding; forwarded: videresendt melding | videresendt e-post
begun: videresendt melding | start på videresendt melding
device: sendt fra # | sendt fra min # | sendt med # | skaff deg # | få # | last ned #
[nl]
wrote: schreef | heeft geschreven | het volgende geschreven | geschreven; from: van; sent: verzonden | datum
to: aan; copy: kopie | beantwoorden - aan; subject: onderwerp
original: oorspronkelijk bericht | oorspronkelijke bericht | origineel bericht
forwarded: doorgestuurd bericht | doorgestuurde bericht; begun: begin doorgestuurd bericht
device: verzonden met # | verzonden vanaf # | verzonden vanaf mijn # | verzonden via # | verzonden vanuit #
| verstuurd vanaf # | verstuurd vanaf mijn # | verstuurd met # | # downloaden | download #
[nn]
wrote: skreiv; original: opphavleg melding
device: sendt frå # | sendt frå min #
[pl]
wrote: napisał(a) | napisał | napisała | pisze | napisal(a) | nadesłał; from: od
sent: wysłano | wysłane | data | dnia; to: do; copy: dw | udw; subject: temat
original: wiadomość oryginalna | oryginalna wiadomość | treść oryginalnej wiadomości | wiadomość pierwotna
forwarded: przekazana wiadomość | wiadomość przekazana dalej | treść przekazanej wiadomości | forwarded message
begun: początek przekazywanej wiadomości
device: wysłane z # | wysłano z # | wysłane z mojego # | wysłano z mojego # | wysłane za pomocą # | pobierz #
| pobierz program # | pobierz aplikację # | uzyskaj #
[pt]
wrote: escreveu; from: de; sent: enviado | enviada em | enviada | enviado em | data; to: para; copy: cópia
subject: assunto; original: mensagem original; forwarded: mensagem encaminhada | mensagem reencaminhada
begun: início da mensagem encaminhada | início da mensagem reencaminhada
device: enviado do # | enviado do meu # | enviado da minha # | enviado a partir do # | enviado a partir do meu #
| enviado pelo # | enviado de # | enviado via # | enviado com # | obter o # | obter # | obtenha o # | baixar o #
| baixe o #
[rm]
wrote: ha scrit | scrit; original: messadi original
[ro]
wrote: a scris; from: de la | de; sent: trimis | data | trimis la; to: către | la; copy: copie
subject: subiect | subiectul; original: mesajul original | mesaj original
forwarded: mesaj redirecționat | mesaj transmis; begun: începutul mesajului redirecționat
device: trimis de pe # | trimis din # | trimis de la # | trimis cu # | obțineți # | descarcă #
[ru]
wrote: написал(а) | написал | написала | пишет | писал(а) | писал | писала; from: от | от кого
sent: отправлено | дата; to: кому; copy: копия; subject: тема
original: исходное сообщение | исходное письмо | оригинальное сообщение
forwarded: пересылаемое сообщение | пересланное сообщение | пересылаемое письмо
begun: начало переадресованного сообщения | начало переадресованного письма
device: отправлено с # | отправлено с моего # | отправлено из # | отправлено через # | получить # | скачать #
[sk]
wrote: napísal(a) | napísal | napísala; from: od; sent: odoslané | dátum; to: komu | pre; copy: kópia
subject: predmet; original: pôvodná správa | pôvodná správa --- original message; forwarded: preposlaná správa
device: odoslané z # | odoslané z môjho # | odoslané zo # | získať # | stiahnuť #
[sl]
wrote: je napisal | je napisala | je napisal(a) | napisal | napisala | piše; from: od | pošiljatelj
sent: poslano | datum; to: za | prejemnik; subject: zadeva; original: izvirno sporočilo | izvorno sporočilo
forwarded: posredovano sporočilo
device: poslano iz # | poslano z # | poslano iz mojega # | poslano z mojega # | pridobite # | prenesite #
[sq]
wrote: shkroi | shkruajti; original: mesazhi origjinal
[sr]
wrote: пише | написа | је написао/ла | је написао | је написала | je napisao/la; from: од | шаље
sent: послато | датум | poslato; to: за | прима; subject: наслов | предмет | тема
original: изворна порука | оригинална порука
device: послато са # | послато са мог # | poslato sa # | poslato sa mog #
[sv]
wrote: skrev; from: från; sent: skickat | datum; to: till; copy: kopia; subject: ämne
original: ursprungligt meddelande | originalmeddelande; forwarded: vidarebefordrat meddelande | vidarebefordrat brev
begun: vidarebefordrat brev | vidarebefordrat mejl
device: skickat från # | skickat från min # | skickat med # | från min # | hämta # | skaffa #
[th]
wrote: เขียนว่า | เขียนเมื่อ | เขียน; from: จาก; sent: ส่ง | วันที่ | ส่งเมื่อ; to: ถึง; copy: สำเนาถึง
subject: เรื่อง; original: ข้อความต้นฉบับ | ข้อความเดิม; forwarded: ข้อความที่ส่งต่อ | ข้อความที่ถูกส่งต่อ
device: ส่งจาก # | ส่งจาก # ของฉัน | ดาวน์โหลด # | รับ #
[tr]
wrote: yazdı | şunu yazdı | şunları yazdı | yazmış; from: kimden | gönderen
sent: gönderildi | gönderme tarihi | tarih | gönderilme tarihi; to: kime | alıcı; copy: bilgi; subject: konu
original: özgün ileti | özgün İleti | orijinal mesaj | orijinal ileti | orijinal İleti | özgün mesaj
forwarded: iletilmiş mesaj | iletilen mesaj | iletilmiş ileti | iletilen ileti | İletilmiş mesaj | İletilen mesaj
| İletilmiş ileti | İletilen ileti | yönlendirilmiş ileti
device: # gönderildi | # cihazımdan gönderildi | # edinin | # uygulamasını edinin | # indirin
[ug]
wrote: يازدى; original: ئەسلىي خەت
[uk]
wrote: написав | написала | пише | написав(ла) | написав(-ла); from: від | від кого
sent: надіслано | дата | відправлено; to: кому; copy: копія; subject: тема
original: початкове повідомлення | оригінальне повідомлення
forwarded: переадресоване повідомлення | переслане повідомлення
device: надіслано з # | надіслано з мого # | відправлено з # | отримати # | завантажити #
[uz]
wrote: yozdi | yozgan; original: asl xabar | asl xat
[vi]
wrote: đã viết | viết; from: từ | người gửi; sent: đã gửi | ngày | ngày gửi | gửi lúc; to: đến | tới | người nhận
copy: đồng kính gửi; subject: chủ đề | tiêu đề; original: thư gốc | tin nhắn gốc
forwarded: thư được chuyển tiếp | tin nhắn được chuyển tiếp
device: đã gửi từ # | đã gửi từ # của tôi | gửi từ # | gửi từ # của tôi | tải # | lấy #
[zh]
wrote: 写道 | 写于 | 写到; from: 发件人 | 发送人; sent: 发送时间 | 发送日期 | 日期 | 时间; to: 收件人; copy: 抄送; subject: 主题
original: 原始邮件 | 回复的原邮件 | 回复的邮件 | 原始消息 | 原邮件 | 原始信息; forwarded: 转发的邮件 | 转发邮件 | 转发信息 | 转发的消息 | 转发邮件信息 | 转发的邮件信息
begun: 以下是转发的邮件 | 下面是被转发的邮件
device: 从我的 # 发送 | 从我的#发送 | 发自我的 # | 发自我的# | 来自我的 # | 来自我的# | 发送自 # | 发自 # | 获取 # | 获取 适用于 # | 从 # 发送 | 下载 #
[zh-Hant]
wrote: 寫道 | 寫到; from: 寄件者 | 寄件人; sent: 寄件日期 | 傳送日期 | 日期 | 傳送時間 | 寄件時間; to: 收件者 | 收件人; copy: 副本; subject: 主旨 | 主題
original: 原始郵件 | 回覆的原郵件 | 原始訊息; forwarded: 轉寄的郵件 | 轉寄郵件 | 轉寄訊息 | 轉寄信件 | 轉寄的訊息; begun: 以下是轉寄的郵件
device: 從我的 # 傳送 | 從我的#傳送 | 從我的 # 發送 | 傳自我的 # | 傳送自我的 # | 取得 # | 下載 # | 從 # 傳送
`

/** Returns the phrases of a kind in all languages, each once. */
export function listPhrases(kind: PhraseKind): readonly string[] {
  return [...new Set(listByLanguage(kind).flatMap(([, phrases]) => phrases))]
}

/** Returns the phrases of a kind for each language that has some. */
export function listByLanguage(kind: PhraseKind): readonly (readonly [language: string, phrases: readonly string[]])[] {
  return languages.flatMap(([language, cells]) => {
    const cell = cells.find(text => text.startsWith(`${kind}: `))
    return cell ? [[language, cell.slice(kind.length + 2).split(' | ')] as const] : []
  })
}

const languages = phrasesByLanguage
  .normalize('NFC')
  .replaceAll('\n|', ' |')
  .split('\n[')
  .slice(1)
  .map(row => {
    const [language = '', cells = ''] = row.split(']\n')
    return [language, cells.split(/\n|; /)] as const
  })

/** Returns the source of a regular expression for any of these phrases, the longest first. */
export function createAlternativesPattern(phrases: readonly string[]): string {
  const alternatives = phrases.toSorted((one, other) => other.length - one.length).map(escapePhrase)
  return `(?:${alternatives.join('|')})`
}

/** Returns the phrase as a regular expression reads it. */
export function escapePhrase(phrase: string): string {
  return phrase.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&')
}
