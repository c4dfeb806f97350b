"""Whether a text can be read as a request at all: its length, signs and language, and whether it is about a job."""

from __future__ import annotations

import re
import unicodedata

from .vocabulary import listed

MOST = 8_000  # characters; a request is a few sentences
_ENGLISH = listed(
    "the a an of to in on with for and my please i want need is it this that using use run "
    "train on at by from we would like be should do not can script job nodes node hours "
    "hour "
    "gpus gpu account fine tune training model walltime partition queue each per total"
)
_FOREIGN = {
    "German": "ich bitte ein eine einen der die das und mit auf für fur mein meine brauche möchte "
    "moechte starte trainiere knoten stunden stunde pro insgesamt konto skript von nicht "
    "ist soll auftrag",
    "French": "je veux voudrais un une le la les des du et avec sur pour mon ma mes besoin lancer "
    "lance entraîner entrainer noeuds nœuds heures heure compte par s'il vous plaît tâche "
    "calcul script-fr est au aux chaque",
    "Spanish": "quiero necesito un una el la los las y con en para mi mis por favor entrenar entrena "
    "ejecutar ejecuta nodos nodo horas hora cuenta cada trabajo de del usando modelo",
    "Italian": "voglio vorrei ho bisogno un una il lo la gli i e con su per mio mia addestrare addestra "
    "nodi nodo ore ora conto ogni lavoro di del della usando modello",
    "Portuguese": "quero preciso um uma o a os as e com em para meu minha por favor treinar treine executar "
    "nós nos horas hora conta cada trabalho do da usando modelo",
    "Dutch": "ik wil graag een de het en met op voor mijn nodig trainen train-nl knooppunten uur "
    "per rekening taak van niet alstublieft draaien",
    "Polish": "chcę proszę uruchom na z i dla mój moja węzłach węzły godzin godziny konto trenuj model-pl potrzebuję",
    "Turkish": "istiyorum lütfen ve ile için bir düğüm saat hesap eğit çalıştır benim",
    "Swedish": "jag vill en ett och med på för min mitt noder timmar konto träna kör behöver",
    "Indonesian": "saya ingin mau dan dengan untuk pada jalankan latih simpul jam akun tolong",
}
_ABOUT = re.compile(
    r"(?i)(?:\b(?:re-?)?(?:train|fine-?tun|finetun|pre-?train|submit|sbatch|qsub|slurm|pbs"
    r"|gpu|job|script|launch|walltime|epoch|infer(?:ence)?\b|benchmark|distributed|parallel"
    r"|llm|neural|deep learning|checkpoint|batch|"
    r"node|cluster|srun|torchrun|mpi|python|pytorch|deepspeed|accelerate launch|ddp|fsdp|zero-?3"
    r"|model|partition|queue|allocation|\w+\.py\b))"
)
_UNSEEN = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


def refusal(text: str) -> str | None:
    """Return in one line why *text* cannot be read as a request, None where its form is right. Takes bounded time."""
    if len(text) > MOST:
        return "the request has %d characters, more than %d; say it in a few sentences" % (len(text), MOST)
    if not text.strip():
        return 'the request is empty; say for example "train.py with DDP on 2 nodes, 4 hours, account abc123"'
    odd = next(
        (
            sign
            for sign in text
            if unicodedata.category(sign) in ("Cc", "Cs", "Co", "Cn") and sign not in "\t\n\r" or sign in _UNSEEN
        ),
        "",
    )
    if odd:
        return "the request holds the character U+%04X, which is no text; write it in plain words" % ord(odd)
    return _language(text) or (
        None if re.search(r"[A-Za-z]", text) else "the request holds no words; say what to run and on how many nodes"
    )


def about_a_job(text: str) -> bool:
    """Tell whether any word of the text speaks of a job."""
    return bool(_ABOUT.search(text))


def _language(text: str) -> str | None:
    letters = [sign for sign in text if sign.isalpha()]
    strange = sum(not _latin(sign) for sign in letters)
    if letters and strange * 3 > len(letters):
        return "the request is not in English; requests are read in English"
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", re.sub(r"`[^`]*`|\S*[/=._]\S*", " ", text.lower()))
    english = sum(word in _ENGLISH for word in words)
    name, many = max(((name, _hits(words, table)) for name, table in _FOREIGN.items()), key=lambda pair: pair[1])
    if many >= 2 and many > english:
        return "the request looks like %s; requests are read in English" % name
    return None


def _hits(words: list[str], table: str) -> int:
    known = frozenset(table.split()) - {"a", "i", "o", "script-fr"}
    return len({word for word in words if word in known and word not in _ENGLISH})


def _latin(sign: str) -> bool:
    return sign.isascii() or "LATIN" in unicodedata.name(sign, "") or sign in "µμΩ"
